"""What is summed up over the rounds of an answer, some together: one by one, right behind passes over the weights, that
would take several times as long."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

from specchat_engine.decoding.costs import PlainCost
from specchat_engine.decoding.rounds import RoundTimes
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.threads.cpu_contention import Passes

Marks = tuple[int, int, int, int]
"""The clock, and what the draft's passes, the target's and going back took so far, all in nanoseconds."""

Made = tuple[int, int, int, Marks, Marks, int, bool]
"""What the times of a round are told by, which costs less than a `Timed` that nobody may ask for: its index, where it
begins and ends among the answer's tokens, the marks around it, when the turn began, and whether it rested."""

Counted = tuple[Made, int, int, int, bool]
"""A round to be counted: how many tokens were drafted, accepted, compared, and whether it has one besides."""


class Timed:
    """The round with this `index`, which emitted the answer's tokens from `start` to `end`, and its times.

    `rested` says that it was held for so long that what it took tells nothing of others.
    """

    __slots__ = ("_after", "_before", "_began_ns", "end", "index", "rested", "start")

    def __init__(self, made: Made) -> None:
        self.index, self.start, self.end, self._before, self._after, self._began_ns, self.rested = made

    @property
    def t_ms(self) -> float:
        """Milliseconds since the turn began."""
        return (self._after[0] - self._began_ns) / 1e6

    @property
    def times(self) -> RoundTimes:
        """What it took, part by part."""
        now, draft, verify, rollback = self._after
        before, drafted_by, verified_by, rolled_back_by = self._before
        drafted, verified, rolled_back = draft - drafted_by, verify - verified_by, rollback - rolled_back_by
        other = now - before - drafted - verified - rolled_back
        return RoundTimes(drafted / 1e6, verified / 1e6, other / 1e6, rolled_back / 1e6)

    def other_ms_since(self, earlier: Timed) -> float:
        """What was spent between that round and this one apart from passes; going back behind tokens counts."""
        passed, drafted, verified, _ = (now - then for now, then in zip(self._before, earlier._after, strict=True))
        return (passed - drafted - verified) / 1e6


class Books:
    """Of one turn: its statistics, what its plain passes took, and who else hears of its passes."""

    def __init__(self, plain_cost: PlainCost, passed: Callable[[Passes], object] | None = None) -> None:
        """`passed` hears of the target's passes, a few together, between two rounds."""
        self._stats = TurnStats()
        self._plain_cost = plain_cost
        self._passed = passed
        self._passes: list[tuple[int, float, float]] = []
        self.waiting: deque[Counted] = deque()
        """Rounds that are not counted yet."""
        self._counting = Lock()
        self._plain = False

    @property
    def stats(self) -> TurnStats:
        """What all rounds by now did and where their time went; from any thread."""
        self.count()
        return self._stats

    def tell(self) -> None:
        """Lets others hear of the passes that they did not hear of."""
        self.count()
        with self._counting:
            passes, self._passes = self._passes, []
        if self._passed and passes:
            self._passed(passes)

    def count(self) -> None:
        """Counts the rounds that wait for it; from any thread."""
        with self._counting:
            while self.waiting:
                made, drafted, accepted, compared, own = self.waiting.popleft()
                timed = Timed(made)
                times, rested = timed.times, timed.rested
                self._stats.count(times, timed.t_ms, drafted, accepted, compared, own=own)
                if not rested:
                    self._passes.append((1 + drafted, times.verify, times.draft))
                if drafted or rested:
                    self._plain = False
                elif self._plain:  # a pass right behind a draft takes longer than plain decoding does
                    self._plain_cost.observe(self._stats.prompt_tokens + timed.end, times.verify)
                else:
                    self._plain = True
