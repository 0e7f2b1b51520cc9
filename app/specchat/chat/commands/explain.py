"""`/explain`."""

from __future__ import annotations

from collections.abc import Iterator

from specchat.chat.commands.command import Command, Refusal, closest
from specchat.chat.controller import Sources
from specchat.stats.figures import NAMED, figure_called
from specchat.stats.figures.figure import Figure


def _read(argument: str, _sources: Sources) -> Figure | None:
    figure = figure_called(argument.lower())
    if argument and figure is None:
        raise Refusal(f"there is no figure {argument!r}: {closest(argument.lower(), NAMED)}")
    return figure


def _names(_sources: Sources, _before: str) -> Iterator[tuple[str, str]]:
    """The names, each with the figure as the screen shows it."""
    return ((name, "" if figure.label == name else figure.label) for name, figure in NAMED.items())


EXPLAIN = Command(
    "explain",
    "[FIGURE]",
    "What a figure means, with the last answer's numbers.",
    _read,
    order=180,
    words=(_names,),
    plain=True,
)
