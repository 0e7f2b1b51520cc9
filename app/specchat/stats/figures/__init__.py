"""The figures of an answer, each declared once: the panel, the windows, `/explain` and the help derive from them."""

from __future__ import annotations

from specchat.stats.figures import acceptance, answer, costs, drafts, speed
from specchat.stats.figures.figure import Figure

_GROUPS = speed, acceptance, costs, drafts, answer

FIGURES: tuple[Figure, ...] = tuple(
    dict.fromkeys(value for group in _GROUPS for value in vars(group).values() if isinstance(value, Figure))
)
"""All figures of these modules, from the top of the panel to its bottom."""

NAMED = {figure.name: figure for figure in FIGURES if figure.name}
"""The figures that can be explained, by the names that are offered."""


def figure_called(name: str) -> Figure | None:
    """The figure with this name, label or alias, in small letters; None if there is none."""
    return next((figure for figure in NAMED.values() if name in (figure.name, figure.label, *figure.aliases)), None)
