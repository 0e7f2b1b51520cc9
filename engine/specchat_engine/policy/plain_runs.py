"""When plain rounds are made only to be timed, and which of them tell what plain decoding takes."""

from __future__ import annotations

from specchat_engine.policy.costs import QUICK_MS

_FEWEST, _MOST, _SHARE = 16, 256, 0.004
"""Another run of plain rounds comes behind so many others that it costs this share of their tokens: where a draft gains
little it costs next to nothing, and what is to be known well is then what a plain pass takes. Where one width comes
again and again, whether its cost or the machine has changed cannot be told."""

_SEEN = 3
"""Plain passes that are seen in any case before any draft."""

_RUN, _LONG_RUN = 2, 6
"""The plain rounds of a run, and of one of quick passes. Its first pass is not counted: where the weights nearly fit
the caches, one between drafts takes up to 1.3 times what one among plain ones does, and drafts that lose 6 % would look
as if they gained."""


class PlainRuns:
    """Counts rounds, and plain ones that come one behind the other."""

    __slots__ = ("_due", "_long", "_run", "_since")

    def __init__(self) -> None:
        self._run = self._since = 0
        self._long = _RUN
        self._due: float = _MOST

    def are_due(self, seen: int) -> bool:
        """Whether plain passes, of which so many were seen, are to be measured now."""
        return seen < _SEEN or self._since >= self._due

    @property
    def missing(self) -> int:
        """How many more plain rounds belong to the run of now, or to the next one: 1 at least."""
        return max(1, self._long - self._run)

    @property
    def begins(self) -> bool:
        """Whether the last round is the first plain one behind others, and tells nothing of plain decoding."""
        return self._run == 1

    def expect(self, gain: float, tokens: float, plain_ms: float) -> None:
        """Rounds are expected to give so many tokens each, and those so many times as fast as plain ones."""
        lost = _length(plain_ms) * (gain - 1)
        self._due = max(_FEWEST, min(_MOST, lost / (_SHARE * tokens)))

    def passed(self, rounds: int, plain: bool, verify_ms: float) -> None:
        """So many rounds alike went by, plain ones or others."""
        self._run = self._run + rounds if plain else 0
        if plain:
            self._long = _length(verify_ms)
        self._since = 0 if self._run >= self._long else self._since + rounds


def _length(plain_ms: float) -> int:
    return _LONG_RUN if plain_ms < QUICK_MS else _RUN
