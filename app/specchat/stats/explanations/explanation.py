"""What an explanation is: paragraphs about one thing, and where the documentation says more."""

from __future__ import annotations

from dataclasses import dataclass

from specchat.manual.sections import Place

FIGURES_PAGE = "figures.md"
LOSSLESS_PAGE = "lossless.md"

SAME = 0.005
"""A speed-up that is closer to 1 than this counts as none."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of one thing. `value` is what the screen shows of it, `more` a section of the documentation."""

    name: str
    paragraphs: tuple[str, ...]
    more: Place
    value: str = ""


def figures_place(heading: str) -> Place:
    """A section of the page about figures and tokens."""
    return Place(FIGURES_PAGE, heading)
