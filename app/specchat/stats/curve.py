"""What passes cost at any width, and the speed-up to expect from that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from specchat.stats.summary import Figures
from specchat_engine.decoding.costs import Basis, MeasuredCosts
from specchat_engine.decoding.rounds import Round, by_model
from specchat_engine.decoding.stats import speedup_over_plain

_OFTEN, _SOME = 8, 3


def costs_of(rounds: Iterable[Round], plain_ms: float | None = None) -> MeasuredCosts:
    """The costs measured in rounds, for traces that did not record costs: medians by width.

    `plain_ms` is C(1) if it is known from elsewhere. The first round of an answer, which is often slower, is left out.
    """
    by_width, steps = _passes(rounds)
    verify = {width: median(times) for width, times in by_width.items()} | ({1: plain_ms} if plain_ms else {})
    return MeasuredCosts(tuple(sorted(verify.items())), median(steps) if steps else None)


def fitted(record: MeasuredCosts, rounds: Iterable[Round]) -> MeasuredCosts:
    """Recorded costs, scaled to the speed of a turn by the turn's own passes.

    A machine that slows down slows all widths alike, so the curve keeps its shape and is scaled. A width with at least
    eight passes in the turn takes its value from there; a width that the record lacks needs only three.
    """
    by_width, steps = _passes(rounds)
    known = dict(record.verify)
    ratios = [ms / known[width] for width, times in by_width.items() if known.get(width) for ms in times]
    level = median(ratios) if len(ratios) >= _OFTEN else 1.0
    verify = {width: ms * level for width, ms in known.items()}
    for width, times in by_width.items():
        if len(times) >= (_OFTEN if width in known else _SOME):
            verify[width] = median(times)
    few = len(steps) < (_SOME if record.draft_step is None else _OFTEN)
    return MeasuredCosts(tuple(sorted(verify.items())), record.draft_step if few else median(steps))


def _passes(rounds: Iterable[Round]) -> tuple[dict[int, list[float]], list[float]]:
    """The times of target passes by width and of draft steps, without the first round."""
    by_width: dict[int, list[float]] = {}
    steps: list[float] = []
    for event in rounds:
        if event.index == 0:
            continue
        by_width.setdefault(len(event.drafted) + 1, []).append(event.ms.verify)
        if by_model(event.source) and event.drafted:
            steps.append(event.ms.draft / len(event.drafted))
    return by_width, steps


def expected_speedup(figures: Figures, widths: Mapping[int, int], costs: MeasuredCosts) -> float | None:
    """The speed-up to expect of rounds whose C(1) was not measured; None if the costs do not suffice.

    `widths` counts the target's passes by width. They took longer or shorter than in `costs`, and plain passes are
    taken to do so by the same factor. Everything else is as in `speedup_over_plain`.
    """
    curve = costs.curve
    if curve is None or curve.basis(1) is not Basis.MEASURED:
        return None
    usual = sum(count * curve.at(width) for width, count in widths.items())
    return speedup_over_plain(curve.at(1) * figures.verify_ms / usual, figures) if usual else None
