"""A race of two recorded answers to one prompt, plain and speculative, from the same start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from specchat.errors import TraceError
from specchat.terminal.filter import clean_line
from specchat.traces.timeline import Timeline
from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import Outcome, TokenKind


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the texts are equal, also in words, and otherwise the first different character and token, from 0."""

    equal: bool
    words: str
    character: int | None = None
    token: int | None = None


@dataclass(frozen=True, slots=True)
class Race:
    """Both answers over time. Create one with `Race.of`."""

    plain: Timeline
    speculative: Timeline

    @classmethod
    def of(cls, plain: Trace, speculative: Trace) -> Self:
        """A race of two answers. Raises TraceError if they answer different messages."""
        if _asked(plain) != _asked(speculative):
            raise TraceError("these traces answer different messages: race two answers to one prompt")
        return cls(Timeline(plain), Timeline(speculative))

    @property
    def duration(self) -> float:
        """The duration of the slower answer in seconds."""
        return max(self.plain.duration, self.speculative.duration)

    def lead(self, seconds: float) -> int:
        """The number of tokens by which the speculative answer is ahead; negative if it is behind."""
        return self.speculative.tokens(seconds) - self.plain.tokens(seconds)

    def verdict(self) -> Verdict:
        """Compares the texts."""
        left, right = self.plain.trace, self.speculative.trace
        ours, theirs = left.text, right.text
        if ours == theirs:
            return Verdict(True, f"texts equal: {len(ours)} characters")
        character = _first_difference(ours, theirs) or 0
        token = _first_difference(_ids(left), _ids(right))
        place = f"character {character}" + ("" if token is None else f", token {token}")
        if character == min(len(ours), len(theirs)):
            shorter = "plain" if len(ours) < len(theirs) else "speculative"
            reason = (left if shorter == "plain" else right).reason or "no end recorded"
            return Verdict(False, f"equal up to {place}, where the {shorter} one stops ({reason})", character, token)
        words = f"the texts differ from {place}: {_excerpt(ours, character)} and {_excerpt(theirs, character)}"
        if other := _other_conditions(left.start, right.start):
            words += f"; not the same: {', '.join(other)}"
        return Verdict(False, words, character, token)


def _asked(trace: Trace) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in trace.start["messages"]]


def _ids(trace: Trace) -> list[int | None]:
    """The tokens of the answer."""
    ids: list[int | None] = [*trace.start.get("prefix", ())]
    for event in trace.rounds:
        ids += (token.id for token in event.drafted if token.outcome is Outcome.ACCEPTED)
        if event.token.kind is not TokenKind.NONE:
            ids.append(event.token.id)
    return ids


def _first_difference(ours: Sequence[object], theirs: Sequence[object]) -> int | None:
    """The first place that differs or that only one of them has; None if they are equal."""
    for place, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one != other:
            return place
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))


def _excerpt(text: str, place: int) -> str:
    return f"“{clean_line(text[place : place + 16])}”"


def _other_conditions(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """The other conditions that differ, which may explain why the texts do."""
    differing = [name for name in ("seed", "turn", "verifier") if left[name] != right[name]]
    if _name(left) != _name(right):
        differing.append("target")
    ours, theirs = left.get("params"), right.get("params")
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        names = sorted({*ours, *theirs} - {"k"})
        differing += [clean_line(name) for name in names if ours.get(name) != theirs.get(name)]
    return differing


def _name(start: Mapping[str, Any]) -> object:
    target = start.get("target")
    return target["name"] if target else None
