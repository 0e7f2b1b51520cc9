"""Notices an answer that repeats itself: small models, and low temperatures, end in loops that fill the context."""

from __future__ import annotations

from collections import deque
from typing import Final

from specchat_engine.decoding.rounds import Round

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
