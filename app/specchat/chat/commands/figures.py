"""`/explain`: the figures by the names that people type."""

from __future__ import annotations

from collections.abc import Iterator

from specchat.chat.commands.invocations import ExplainFigure, Refusal
from specchat.chat.commands.reading import Read, Sources, closest
from specchat.stats.figures import NAMED, figure_called


def read_explain(argument: str, _sources: Sources) -> Read:
    """A figure by its name or sign; nothing for all of them."""
    if not argument:
        return ExplainFigure()
    figure = figure_called(argument.lower())
    if figure is None:
        return Refusal(f"there is no figure {argument.lower()!r}: {closest(argument.lower(), NAMED)}")
    return ExplainFigure(figure)


def figure_names(_sources: Sources, _before: str) -> Iterator[tuple[str, str]]:
    """The names, each with the figure as the screen shows it."""
    return ((name, "" if figure.label == name else figure.label) for name, figure in NAMED.items())
