"""Is an answer's text that of plain decoding? Two recordings of it, compared token by token."""

from __future__ import annotations

import math
from dataclasses import dataclass

from specchat.settings.options import DEFAULT_VERIFIER
from specchat.terminal.filter import clean
from specchat.traces.trace import Trace
from specchat.tui.spots import known, output_tokens, visible
from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.sampling.noise import gumbel, turn_seed

_NEAR = 0.01
"""Two values of log p + g that are closer than this are a near-tie: the last bits of logits can turn it."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of it: how many tokens were equal, and the first place where they are not, None where there is none.

    `tokens` are the two there, the recorded one and the plain one, None where an answer has ended before it.
    """

    equal: int
    place: int | None = None
    tokens: tuple[int | None, int | None] = (None, None)
    texts: tuple[str, str] = ("", "")

    def sentence(self) -> str:
        """It in words."""
        if self.place is None:
            return f"the text is that of plain decoding: {self.equal} tokens, all equal"
        here = f"the texts part at token {self.place + 1}"
        return f"{here}: the answer says {self.texts[0]}, plain decoding {self.texts[1]}"


def compared(answer: Trace, plain: Trace) -> Compared:
    """The answer against one that was made plainly and with room for as many tokens."""
    ours, theirs = output_tokens(answer), output_tokens(plain)
    for place in range(max(len(ours), len(theirs))):
        pair = (_at(ours, place), _at(theirs, place))
        if pair[0] != pair[1]:
            return Compared(place, place, pair, (_text(answer, place), _text(plain, place)))
    return Compared(len(ours))


def not_comparable(answer: Trace) -> str:
    """Why an answer promises no text that could be compared; empty where it does."""
    rule, temperature = answer.start["verifier"], answer.start.get("params", {}).get("temperature", 0)
    if not answer.start["lossless"]:
        return f"the rule {rule} is lossy: it promises no text that could be compared"
    if rule != DEFAULT_VERIFIER and temperature:
        return f"the rule {rule} keeps the target's law and not its text: compare it at temperature 0"
    if not any(event.drafted for event in answer.rounds):
        return "nothing was drafted in this answer: it is plain already"
    return ""


def gap_told(found: Inspection | str, difference: Compared, seed: int, turn: int, attempt: int) -> str:
    """How close the two tokens are, as the target sees them when it looks again; why not, where that is not known."""
    ours, theirs = difference.tokens
    if isinstance(found, str) or difference.place is None or ours is None or theirs is None:
        return f"how close they are is not known: {found}" if isinstance(found, str) else ""
    pair = (known(found, ours), known(found, theirs))
    if pair[0] is None or pair[1] is None:
        return "how close they are is not known"
    greedy = found.sampling.temperature == 0
    noise = (0.0, 0.0) if greedy else gumbel(turn_seed(seed, turn, attempt), difference.place, (ours, theirs)).tolist()
    values = [_value(token, own, greedy=greedy) for token, own in zip(pair, noise, strict=True) if token is not None]
    removed = [token.removed_by for token in pair if token is not None and token.p == 0 and not greedy]
    if removed:
        return f"one of them does not survive {removed[0]}: the last bits of logits can decide that"
    gap = abs(values[0] - values[1])
    what = "log p" if greedy else "log p + g"
    near = "a near-tie, which the last bits of logits can turn" if gap < _NEAR else "no near-tie"
    return f"their {what} lie {gap:.2g} apart: {near}"


def _value(token: InspectedToken, noise: float, *, greedy: bool) -> float:
    p = token.raw_p if greedy else token.p
    return (math.log(p) if p > 0 else -math.inf) + noise


def _at(tokens: tuple[int, ...], place: int) -> int | None:
    return tokens[place] if place < len(tokens) else None


def _text(trace: Trace, place: int) -> str:
    """The token at an output position, its spaces as signs."""
    at = place - len(trace.start.get("prefix", ()))
    for event in trace.rounds:
        if at < event.num_emitted:
            text = event.drafted[at].text if at < event.num_accepted else event.token.text
            return visible(clean(text)) if text else "its end"
        at -= event.num_emitted
    return "nothing more"
