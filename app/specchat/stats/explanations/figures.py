"""All explanations of figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from specchat.stats.explain import Figure, explain
from specchat.stats.explanations import acceptance, drafting, speed
from specchat.stats.explanations.explanation import Explanation, figures_place
from specchat.stats.turn import TurnView

EXPLAINED: tuple[Figure, ...] = tuple(figure for figure in Figure if figure is not Figure.ALPHA_AND_RATE)
"""The figures with an explanation of their own; how α and the rate differ is part of that of α."""


def explain_figure(figure: Figure, view: TurnView) -> Explanation:
    """The explanation of one figure. Before anything was measured, it says what the figure will show."""
    return _BY_FIGURE[figure](view)


def explain_figures(view: TurnView) -> dict[Figure, Explanation]:
    """The explanations of all figures, in the order of the dashboard."""
    return {figure: explain_figure(figure, view) for figure in EXPLAINED}


def _memory(view: TurnView) -> Explanation:
    paragraphs = (
        explain(Figure.MEMORY, view),
        "If memory is short, a smaller context, another cache type or a smaller quantisation helps.",
    )
    return Explanation("memory", paragraphs, figures_place("Memory"))


_BY_FIGURE: Mapping[Figure, Callable[[TurnView], Explanation]] = MappingProxyType(
    {
        Figure.SPEED: speed.speed,
        Figure.SPEEDUP: speed.speedup,
        Figure.ACCEPTED: acceptance.accepted,
        Figure.ALPHA: acceptance.alpha,
        Figure.ALPHA_AND_RATE: acceptance.alpha,
        Figure.TAU: acceptance.tau,
        Figure.BY_POSITION: acceptance.by_position,
        Figure.TIME: speed.time,
        Figure.BREAK_EVEN: speed.break_even,
        Figure.K: drafting.length,
        Figure.SOURCES: drafting.sources,
        Figure.MEMORY: _memory,
        Figure.SO_FAR: drafting.so_far,
        Figure.ROUNDS: drafting.rounds,
        Figure.VERIFIER: drafting.verifier,
    }
)
