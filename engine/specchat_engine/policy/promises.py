"""Whether drafters keep what their rounds promise: an estimate may be too good for one and not for another."""

from __future__ import annotations

_FIRST, _FADE = 10.0, 0.98
"""The tokens that count as promised and kept at first, and how much older rounds count."""


class Promises:
    """The share of the promised tokens that came true, by kind of text and drafter."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], tuple[float, float]] = {}

    def observe(self, kind: str, drafter: str, promised: float, emitted: int) -> None:
        """Learns what became of a round that promised so many tokens for the time that it took."""
        before, kept = self._sums.get((kind, drafter), (0.0, 0.0))
        self._sums[kind, drafter] = _FADE * before + promised, _FADE * kept + emitted

    def kept(self, kind: str, drafter: str) -> float:
        """How many tokens came for each that was promised, 1 at most; 1 for an unknown drafter."""
        promised, emitted = self._sums.get((kind, drafter), (0.0, 0.0))
        return min(1.0, (emitted + _FIRST) / (promised + _FIRST))
