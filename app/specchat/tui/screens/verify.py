"""The verify window: the last answer is decoded again without speculation and compared."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specchat.errors import SpecchatError
from specchat.settings.options import DEFAULT_VERIFIER
from specchat.terminal.filter import clean, clean_line
from specchat.terminal.pieces import visible
from specchat.traces.trace import Trace
from specchat.tui.screens.inspector import known
from specchat.tui.side_answer import SideAnswer
from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.analysis.widths import tie_width
from specchat_engine.sampling.noise import gumbel, turn_seed
from specchat_engine.settings import LOSSY_VERIFIERS, SAME

_PROGRESS = 0.2
_TURNED = "Changing sampling parameters while an answer streams also makes the texts differ."
_MEASURE = (
    "`specchat doctor -m MODEL` measures how many answers part for that, `--exact` prevents it, and `specchat verify` "
    "distinguishes it from a bug."
)


@dataclass(frozen=True, slots=True)
class TextComparison:
    """The result: the number of equal tokens, and the first place where the answers differ, or None.

    `tokens` are the recorded and the plain token at that place; None where an answer had already ended.
    """

    equal: int
    place: int | None = None
    tokens: tuple[int | None, int | None] = (None, None)
    texts: tuple[str, str] = ("", "")

    def sentence(self) -> str:
        """The result in words."""
        if self.place is None:
            return f"the text equals plain decoding: all {self.equal} tokens are equal"
        here = f"the texts first differ at token {self.place + 1}"
        return f"{here}: the answer says {self.texts[0]}, plain decoding {self.texts[1]}"


Closer = Callable[[TextComparison], Awaitable[str]]
"""Inspects a difference and says how close the two tokens are."""


class VerifyScreen(ModalScreen[None]):
    """A small window with the progress, then the result."""

    CSS_PATH = "verify.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,q", "leave", "Back", id="verify.leave")]

    def __init__(self, answer: Trace, plain: SideAnswer, closer: Closer) -> None:
        super().__init__()
        self._answer = answer
        self._plain = plain
        self._closer = closer
        self._over = False

    def compose(self) -> ComposeResult:
        """A frame with text."""
        with Vertical(id="panel") as panel:
            panel.border_title = "Verify"
            panel.border_subtitle = "Esc stops"
            yield Static(id="result")

    def on_mount(self) -> None:
        """Begin to decode."""
        self.set_interval(_PROGRESS, self._show_progress)
        self.run_worker(self._verify())
        self._show_progress()

    def action_leave(self) -> None:
        """Stop decoding if it runs, and go back."""
        if not self._over:
            self._plain.stop()
        self.dismiss()

    async def _verify(self) -> None:
        try:
            plain = await asyncio.to_thread(self._plain.run)
        except SpecchatError as error:
            self._show_result(f"✕ {clean_line(str(error))}", "$text-warning")
            return
        if plain is None:
            return
        result = compared(self._answer, plain)
        if result.place is None:
            self._show_result(f"✓ {result.sentence()}", "$outcome-accepted")
            return
        self._show_result(f"✕ {result.sentence()}", "$text-warning", "comparing the two tokens …")
        self._show_result(f"✕ {result.sentence()}", "$text-warning", clean_line(await self._closer(result)))

    def _show_result(self, text: str, style: str, more: str = "") -> None:
        self._over = True
        self.query_one("#panel").border_subtitle = "Esc closes"
        hint = f"{_TURNED}\n{_MEASURE}" if more else ""
        rows = ((text, f"bold {style}"), (f"\n\n{more}" if more else "", ""), (f"\n\n{hint}" if hint else "", "$quiet"))
        self.query_one("#result", Static).update(Content.assemble(*rows))

    def _show_progress(self) -> None:
        if not self._over:
            done = f"{self._plain.num_tokens} of {len(self._answer.tokens)} tokens"
            self.query_one("#result", Static).update(f"Decoding the answer again without speculation: {done} …")


def compared(answer: Trace, plain: Trace) -> TextComparison:
    """Compare the answer with one that was decoded plainly and had room for as many tokens."""
    ours, theirs = answer.tokens, plain.tokens
    for index in range(max(len(ours), len(theirs))):
        pair = (_at(ours, index), _at(theirs, index))
        if pair[0] != pair[1]:
            return TextComparison(index, index, pair, (_text(answer, index), _text(plain, index)))
    return TextComparison(len(ours))


def not_comparable(answer: Trace) -> str:
    """Why the answer cannot be compared; empty if it can."""
    if answer.is_remote:
        return "a server gave this answer: only one of an engine on this machine can be decoded again"
    rules = _rules(answer)
    if lossy := next((rule for rule in rules if rule in LOSSY_VERIFIERS), ""):
        part = " for thoughts" if lossy == answer.start.get("thought_verifier") else ""
        return f"the rule {lossy}{part} is lossy: it promises no text that could be compared"
    other = next((rule for rule in rules if rule != DEFAULT_VERIFIER), "")
    if other and answer.start.get("params", {}).get("temperature", 0):
        return f"the rule {other} keeps the target's law and not its text: compare it at temperature 0"
    if not any(event.drafted for event in answer.rounds):
        return "nothing was drafted in this answer: it is plain already"
    return ""


def _rules(answer: Trace) -> list[str]:
    """The rules that verified drafts, in order. A round of an old trace names none: it had those of the start."""
    begun = (answer.start["verifier"], answer.start.get("thought_verifier", SAME))
    drafts = [(event.verifier,) if event.verifier else begun for event in answer.rounds if event.drafted]
    return [rule for rule in dict.fromkeys(chain.from_iterable(drafts)) if rule != SAME]


def describe_gap(
    inspection: Inspection | str, difference: TextComparison, seed: int, turn: int, attempt: int, quantisation: str = ""
) -> str:
    """How close the two tokens are for the target, or why that is not known. `quantisation` is its weights' type."""
    if isinstance(inspection, str):
        return f"it is not known how close they are: {inspection}"
    pair = [
        token
        for token in (known(inspection, token_id) for token_id in difference.tokens if token_id is not None)
        if token is not None
    ]
    if difference.place is None or len(pair) < 2:
        return "it is not known how close they are"
    greedy = inspection.sampling.temperature == 0
    removed = [token.removed_by for token in pair if token.p == 0 and not greedy]
    if removed:
        return f"one of them does not survive {removed[0]}: the last bits of the logits can decide that"
    ids = [token.id for token in pair]
    noise = [0.0, 0.0] if greedy else gumbel(turn_seed(seed, turn, attempt), difference.place, ids).tolist()
    ours, theirs = (_value(token, own, greedy=greedy) for token, own in zip(pair, noise, strict=True))
    gap = abs(ours - theirs)
    what = "log p" if greedy else "log p + g"
    is_near = gap <= tie_width(quantisation)
    near = "a near-tie, which the number of tokens in a pass can decide" if is_near else "no near-tie"
    return f"their {what} differ by {gap:.2g}: {near}"


def _value(token: InspectedToken, noise: float, *, greedy: bool) -> float:
    p = token.raw_p if greedy else token.p
    return (math.log(p) if p > 0 else -math.inf) + noise


def _at(tokens: tuple[int, ...], index: int) -> int | None:
    return tokens[index] if index < len(tokens) else None


def _text(trace: Trace, position: int) -> str:
    """The token at an output position, with signs for spaces."""
    at = position - len(trace.start.get("prefix", ()))
    for event in trace.rounds:
        if at < event.num_emitted:
            text = event.drafted[at].text if at < event.num_accepted else event.token.text
            return visible(clean(text)) if text else "its end"
        at -= event.num_emitted
    return "nothing more"
