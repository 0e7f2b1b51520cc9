"""The statistics of one turn, gathered round by round. Counters carry vLLM's names."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from dataclasses import dataclass, field, fields
from typing import Any, Final, Protocol

from specchat_engine.codec import to_json
from specchat_engine.decoding.rounds import Round

_DERIVED = ("acceptance_rate", "alpha", "block_efficiency", "tokens_per_second", "speedup")
_NOT_WRITTEN = (
    "num_rejected_tokens",
    "num_drafts_per_pos",
    "num_tested_tokens_per_pos",
    "plain_ms",
    "reasoning",
    "repeats",
)


class Compared(Protocol):
    """Places of drafts that were compared with the target's tokens, and α, which follows from them: the one place that
    computes it. A chain has one token for each place, a tree may have several; see `Round.num_rejected`."""

    __slots__ = ()

    @property
    def num_accepted_tokens(self) -> int: ...
    @property
    def num_rejected_tokens(self) -> int: ...

    @property
    def num_tested_tokens(self) -> int:
        """Places of drafts that were compared: accepted or rejected, not discarded."""
        return self.num_accepted_tokens + self.num_rejected_tokens

    @property
    def alpha(self) -> float | None:
        """α: accepted / (accepted + rejected), since discarded tokens were never tested; None if nothing was tested."""
        return self.num_accepted_tokens / self.num_tested_tokens if self.num_tested_tokens else None


@dataclass(frozen=True, slots=True)
class AcceptanceCounts(Compared):
    """How many drafted tokens were accepted and rejected; `a + b` are those of both."""

    num_accepted_tokens: int = 0
    num_rejected_tokens: int = 0

    def __add__(self, other: AcceptanceCounts) -> AcceptanceCounts:
        """The counts of both."""
        return AcceptanceCounts(
            self.num_accepted_tokens + other.num_accepted_tokens, self.num_rejected_tokens + other.num_rejected_tokens
        )


class Counted(Compared, Protocol):
    """What was counted and timed over some rounds, and the rates that follow from it: the one place that computes them.

    A class that counts derives from this one and has the first four attributes and those of `Compared`; times are in
    milliseconds.
    """

    __slots__ = ()

    @property
    def num_tokens(self) -> int: ...
    @property
    def num_rounds(self) -> int: ...
    @property
    def num_draft_tokens(self) -> int: ...
    @property
    def decode_ms(self) -> float: ...

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted / drafted; None if nothing was drafted."""
        return self.num_accepted_tokens / self.num_draft_tokens if self.num_draft_tokens else None

    @property
    def block_efficiency(self) -> float | None:
        """τ: emitted tokens / target passes, the target's own tokens included."""
        return self.num_tokens / self.num_rounds if self.num_rounds else None

    @property
    def tokens_per_second(self) -> float | None:
        """Emitted tokens / the time of decoding."""
        return self.num_tokens / self.decode_ms * 1000 if self.decode_ms else None


@dataclass(frozen=True, slots=True)
class ReasoningStats(Counted):
    """What was counted over the tokens of an answer's reasoning; `a + b` are the counts of both.

    `num_rounds` have a token in it. `decode_ms` is its part of the time of decoding.
    """

    num_tokens: int = 0
    num_rounds: int = 0
    num_draft_tokens: int = 0
    num_accepted_tokens: int = 0
    num_rejected_tokens: int = 0
    decode_ms: float = 0.0

    def __add__(self, other: ReasoningStats) -> ReasoningStats:
        """The counts of both."""
        return ReasoningStats(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    def to_json(self) -> dict[str, Any]:
        """The counts as they stand in the last line of a trace, with α and tokens per second."""
        counted: dict[str, Any] = to_json(self)
        return counted | {"alpha": self.alpha, "tokens_per_second": self.tokens_per_second}


class Timed(Counted, Protocol):
    """Also the drafts that were counted, and the milliseconds of each part of decoding."""

    __slots__ = ()

    @property
    def num_drafts(self) -> int: ...
    @property
    def draft_ms(self) -> float: ...
    @property
    def verify_ms(self) -> float: ...
    @property
    def rollback_ms(self) -> float: ...
    @property
    def other_ms(self) -> float: ...

    @property
    def decode_ms(self) -> float:
        """The time of decoding, without the prompt."""
        return self.draft_ms + self.verify_ms + self.rollback_ms + self.other_ms

    @property
    def shares(self) -> dict[str, float]:
        """The shares of draft, verify, rollback and other in the time of decoding; empty if no pass was timed, as for
        the answers of a server."""
        times = {"draft": self.draft_ms, "verify": self.verify_ms, "rollback": self.rollback_ms, "other": self.other_ms}
        return {part: time / self.decode_ms for part, time in times.items()} if self.verify_ms else {}


def speedup_over_plain(plain_ms: float | None, counted: Timed) -> float | None:
    """The time of plain decoding / the time of decoding; None if C(1) is unknown or nothing was decoded.

    Plain decoding takes C(1) and some time between passes for each token. The time between passes is taken to be what
    it was here, so that it counts on both sides. An answer without drafts is plain decoding: 1.
    """
    if not counted.decode_ms:
        return None
    if not counted.num_drafts:
        return 1.0
    return None if plain_ms is None else (counted.num_tokens * plain_ms + counted.other_ms) / counted.decode_ms


@dataclass(slots=True)
class TurnStats(Timed):
    """What one answer did and where its time went. `observe` is called once a round, in order, and is the one place
    that counts rounds.

    `cached_tokens` of the prompt's tokens were in memory already, also as the beginning of another answer's text.
    `num_drafts_per_pos[i]` counts the drafts with an i-th token, `num_tested_tokens_per_pos[i]` those in which it was
    compared, and `num_accepted_tokens_per_pos[i]` those in which it was accepted. `plain_ms` is C(1), the
    time of a target pass over one token while the machine was as busy as during the answer, None if that is not known.
    `cpu_share` is the share of the processor time they wanted that the answer's threads got, None if that is not known.
    `reasoning` has the counts of the answer's reasoning, None if there was none; `ReasoningCounter` makes them.
    `repeats` is how many tokens the answer repeated over and over, 0 if it did not; see `Repetition`.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    prompt_ms: float = 0.0
    draft_prompt_ms: float = 0.0
    ttft_ms: float = 0.0
    num_tokens: int = 0
    num_rounds: int = 0
    num_drafts: int = 0
    num_draft_tokens: int = 0
    num_accepted_tokens: int = 0
    num_rejected_tokens: int = 0
    num_accepted_tokens_per_pos: list[int] = field(default_factory=list)
    draft_ms: float = 0.0
    verify_ms: float = 0.0
    rollback_ms: float = 0.0
    other_ms: float = 0.0
    wall_ms: float = 0.0
    plain_ms: float | None = None
    cpu_share: float | None = None
    reasoning: ReasoningStats | None = None
    repeats: int = 0
    num_drafts_per_pos: list[int] = field(default_factory=list)
    num_tested_tokens_per_pos: list[int] = field(default_factory=list)

    def observe(self, event: Round) -> None:
        """Counts one round."""
        if not self.num_rounds:
            self.ttft_ms = event.t_ms
        self.num_rounds += 1
        self.num_tokens += event.num_emitted
        self.draft_ms += event.ms.draft
        self.verify_ms += event.ms.verify
        self.rollback_ms += event.ms.rollback
        self.other_ms += event.ms.other
        self.wall_ms = event.t_ms
        if event.drafted:
            accepted = event.num_accepted
            self.num_drafts += 1
            self.num_draft_tokens += len(event.drafted)
            self.num_accepted_tokens += accepted
            self.num_rejected_tokens += event.num_rejected
            _count(self.num_drafts_per_pos, max(event.depths) + 1)
            _count(self.num_tested_tokens_per_pos, accepted + event.num_rejected)
            _count(self.num_accepted_tokens_per_pos, accepted)

    def copy(self) -> TurnStats:
        """The same statistics, which no later round changes."""
        return deepcopy(self)

    @property
    def speedup(self) -> float | None:
        """Measured speed-up over plain decoding, see `speedup_over_plain`."""
        return speedup_over_plain(self.plain_ms, self)

    def to_json(self) -> dict[str, Any]:
        """The statistics as they stand in the last line of a trace: counts and times, and what is derived of them."""
        counted = {name: value for name, value in to_json(self).items() if name not in _NOT_WRITTEN}
        line = counted | {name: getattr(self, name) for name in _DERIVED}
        if self.reasoning:
            line["reasoning"] = self.reasoning.to_json()
        return line | ({"repeats": self.repeats} if self.repeats else {})


def _count(per_pos: list[int], length: int) -> None:
    """Counts one more at each of the first positions."""
    per_pos += [0] * (length - len(per_pos))
    for position in range(length):
        per_pos[position] += 1


_TIMES: Final = 3
_FEWEST: Final = 64 * _TIMES
_LONGEST: Final = 256


class Repetition:
    """Takes the rounds of one answer. `period` is the number of tokens that it repeats, 0 while it does not.

    An answer repeats itself if its last tokens are the same 64 three times in a row, or up to 256 three times, or fewer
    more often. Tables and lists seldom do. Nothing ends because of it: a model may have been asked to.
    """

    def __init__(self) -> None:
        self.period = 0
        self._latest: deque[str] = deque(maxlen=_LONGEST)
        self._runs: list[int] = []  # how many of the last tokens are the same as the one 1, 2, … before

    def observe(self, event: Round) -> None:
        """Takes one round, in order."""
        for token in event.emitted:
            self._take(token.text)

    def _take(self, text: str) -> None:
        self._runs = [run + 1 if text == before else 0 for run, before in zip(self._runs, self._latest, strict=True)]
        self._latest.appendleft(text)
        if len(self._runs) < len(self._latest):
            self._runs.append(0)
        if not self.period:
            periods = enumerate(self._runs, 1)
            self.period = next((each for each, run in periods if run + each >= max(_TIMES * each, _FEWEST)), 0)
