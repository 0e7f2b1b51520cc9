"""`/explain`: the figures by the names that people type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from specchat.chat.commands.invocations import ExplainFigure, Refusal
from specchat.chat.commands.reading import Read, Sources, closest
from specchat.stats.explain import Figure

FIGURES: Mapping[str, Figure] = MappingProxyType(
    {
        "speed": Figure.SPEED,
        "speedup": Figure.SPEEDUP,
        "accepted": Figure.ACCEPTED,
        "alpha": Figure.ALPHA,
        "tau": Figure.TAU,
        "by place": Figure.BY_POSITION,
        "alpha needed": Figure.BREAK_EVEN,
        "time": Figure.TIME,
        "drafts": Figure.SOURCES,
        "k": Figure.K,
        "memory": Figure.MEMORY,
        "so far": Figure.SO_FAR,
        "rounds": Figure.ROUNDS,
        "verifier": Figure.VERIFIER,
    }
)
"""The names that are offered: the words of the screen, with letters for its signs. The signs, such as α and tok/s, are
understood as well."""

_SIGNS: Mapping[str, Figure] = MappingProxyType(
    {figure.value: figure for figure in Figure}
    | {
        "positions": Figure.BY_POSITION,
        "break-even": Figure.BREAK_EVEN,
        "tokens": Figure.SO_FAR,
        "ribbon": Figure.ROUNDS,
    }
)


def read_explain(argument: str, _sources: Sources) -> Read:
    """A figure by its name or sign; nothing for all of them."""
    name = argument.lower()
    if not name:
        return ExplainFigure()
    figure = FIGURES.get(name) or _SIGNS.get(name)
    if figure is None:
        return Refusal(f"there is no figure {argument!r}: {closest(name, FIGURES)}")
    return ExplainFigure(figure)


def figure_names(_sources: Sources, _before: str) -> Iterator[tuple[str, str]]:
    """The names, each with the figure as the screen shows it."""
    return ((name, "" if figure.value == name else figure.value) for name, figure in FIGURES.items())
