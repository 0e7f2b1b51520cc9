"""A recorded turn over time, the position of a replay at any speed, and a race of two recorded answers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

from specchat.errors import TraceError
from specchat.terminal.filter import clean_line
from specchat.traces.trace import Trace
from specchat_engine.decoding.trace_lines import TRACED


class Timeline:
    """A recorded turn over time. Times are in seconds since the turn began."""

    __slots__ = ("_decode_ms", "_times", "_tokens", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._times = tuple(event.t_ms / 1000 for event in trace.rounds)
        self._tokens = tuple(accumulate((event.num_emitted for event in trace.rounds), initial=0))
        self._decode_ms = tuple(accumulate((event.ms.total for event in trace.rounds), initial=0.0))

    @property
    def duration(self) -> float:
        """The time of the last round."""
        return self._times[-1] if self._times else 0.0

    def due(self, seconds: float) -> int:
        """The number of rounds completed at that time."""
        return bisect_right(self._times, seconds)

    def at(self, rounds: int) -> float:
        """The time at which this many rounds were completed. Counts outside the turn give its start or end."""
        if rounds <= 0 or not self._times:
            return 0.0
        return self._times[min(rounds, len(self._times)) - 1]

    def tokens(self, seconds: float) -> int:
        """The number of tokens at that time."""
        return self._tokens[self.due(seconds)]

    def reached(self, tokens: int) -> float:
        """The time at which there were this many tokens, or at the end."""
        return self.at(bisect_left(self._tokens, tokens))

    def tokens_per_second(self, seconds: float) -> float | None:
        """Tokens / time of decoding up to that time; None before the end of the first round."""
        done = self.due(seconds)
        return self._tokens[done] / self._decode_ms[done] * 1000 if self._decode_ms[done] > 0 else None


@dataclass(frozen=True, slots=True)
class Playhead:
    """The position of a replay. `now` is any monotonic clock in seconds; speed 1 is the recorded speed.

    Each change gives a new playhead that continues from the old one's position at that moment.
    """

    duration: float
    speed: float = 1.0
    playing: bool = False
    place: float = 0.0
    since: float = 0.0

    def position(self, now: float) -> float:
        """Seconds on the recorded clock, from 0 to the duration."""
        if not self.playing or now <= self.since:
            return self.place
        return min(self.place + (now - self.since) * self.speed, self.duration)

    def wait(self, seconds: float, now: float) -> float | None:
        """The time until this position is reached; None if the playhead does not move."""
        if not self.playing:
            return None
        return max(seconds - self.position(now), 0.0) / self.speed

    def played(self, now: float) -> Self:
        """Continues from here, or from the beginning if it was at the end."""
        position = self.position(now)
        return self._moved(0.0 if position >= self.duration else position, now, playing=True)

    def paused(self, now: float) -> Self:
        """Pauses here."""
        return self._moved(self.position(now), now, playing=False)

    def sought(self, seconds: float, now: float) -> Self:
        """Moves to another position, and keeps playing or pausing."""
        return self._moved(min(max(seconds, 0.0), self.duration), now, playing=self.playing)

    def at_speed(self, speed: float, now: float) -> Self:
        """Continues at another speed above 0. Infinity goes to the end at once."""
        if not speed > 0:
            raise ValueError(f"the speed of the replay is {speed}: it must be above 0")
        return type(self)(self.duration, speed, self.playing, self.position(now), now)

    def _moved(self, position: float, now: float, *, playing: bool) -> Self:
        return type(self)(self.duration, self.speed, playing, position, now)


@dataclass(frozen=True, slots=True)
class TextsVerdict:
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
        """The number of tokens by which the speculative answer is ahead; negative if it is slower."""
        return self.speculative.tokens(seconds) - self.plain.tokens(seconds)

    @property
    def ratio(self) -> float | None:
        """How much faster the speculative answer had as many tokens as the shorter one; None if nothing took time.

        Texts that part have other lengths, and only equal lengths can be compared.
        """
        common = min(timeline.tokens(timeline.duration) for timeline in (self.plain, self.speculative))
        plain, speculative = self.plain.reached(common), self.speculative.reached(common)
        return plain / speculative if plain > 0 and speculative > 0 else None

    def verdict(self) -> TextsVerdict:
        """Compares the texts."""
        left, right = self.plain.trace, self.speculative.trace
        ours, theirs = left.text, right.text
        if ours == theirs:
            return TextsVerdict(True, f"texts equal: {len(ours)} characters")
        character = _first_difference(ours, theirs) or 0
        ids = _ids(left), _ids(right)
        token = None if any(None in tokens for tokens in ids) else _first_difference(*ids)
        where = f"character {character}" + ("" if token is None else f", token {token}")
        if character == min(len(ours), len(theirs)):
            shorter = "plain" if len(ours) < len(theirs) else "speculative"
            reason = (left if shorter == "plain" else right).reason or "no end recorded"
            return TextsVerdict(
                False, f"equal up to {where}, where the {shorter} one stops ({reason})", character, token
            )
        words = f"the texts differ from {where}: {_excerpt(ours, character)} and {_excerpt(theirs, character)}"
        if other := _other_conditions(left.start, right.start):
            words += f"; not the same: {', '.join(other)}"
        else:
            words += "; the number of tokens in a pass can decide a near-tie, and --exact prevents that"
        return TextsVerdict(False, words, character, token)


def _asked(trace: Trace) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in trace.start["messages"]]


def _ids(trace: Trace) -> list[int | None]:
    """The tokens of the answer."""
    ids: list[int | None] = [*trace.start.get("prefix", ())]
    for event in trace.rounds:
        ids += (token.id for token in event.emitted)
    return ids


def _first_difference(ours: Sequence[object], theirs: Sequence[object]) -> int | None:
    """The first place that differs or that only one of them has; None if they are equal."""
    for index, (own, other) in enumerate(zip(ours, theirs, strict=False)):
        if own != other:
            return index
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))


def _excerpt(text: str, start: int) -> str:
    return f"“{clean_line(text[start : start + 16])}”"


def _other_conditions(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """The other conditions that differ, which may explain why the texts do."""
    conditions = ("seed", "turn", *(name for name in TRACED if name != "drafter"))
    differing = [name for name in conditions if left.get(name) != right.get(name)]
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
