"""What a figure is: its names, and all that is shown and said of it, declared in one place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, NamedTuple

from specchat.manual.sections import SectionAddress
from specchat.stats.charts import Line, Piece, Style
from specchat.stats.summary import Summary
from specchat.stats.turn import TurnView

FIGURES_PAGE, LOSSLESS_PAGE = "figures.md", "lossless.md"

LABEL = 9
"""The width of the labels of the panel."""

SAME = 0.005
"""A speed-up that is closer to 1 than this counts as none."""

_SHADES = (("█", Style.TARGET), ("▓", Style.ACCEPTED), ("▒", Style.BONUS), ("░", Style.QUIET))
"""The parts of a whole. They differ in shade as well as in colour."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of one thing. `value` is what the screen shows of it, `more` a section of the documentation."""

    name: str
    paragraphs: tuple[str, ...]
    more: SectionAddress
    value: str = ""


class Figure:
    """A figure of an answer. A subclass declares one, its only instance is listed in `specchat.stats.figures`.

    Only the label is needed; what is empty is not shown.
    """

    label: ClassVar[str]
    """The word that the screen shows beside it."""

    name: ClassVar[str] = ""
    """The name for `/explain`: the label with letters for its signs. Without one there is no explanation."""

    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names that `/explain` understands."""

    help: ClassVar[str] = ""
    """A few words for the help."""

    more: ClassVar[SectionAddress] = SectionAddress(FIGURES_PAGE)
    """The section of the documentation that says more."""

    def value(self, view: TurnView) -> str:
        """What the list of explanations shows beside the label; empty if it is not known."""
        return ""

    def sentence(self, view: TurnView) -> str:
        """A sentence or two with the answer's numbers, or what the figure will show."""
        return ""

    def caption(self, view: TurnView) -> str:
        """What the panel says below its rows when the figure is marked."""
        return self.sentence(view)

    def opening(self, view: TurnView) -> str:
        """The first paragraph of the explanation."""
        return self.sentence(view)

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        """The other paragraphs."""
        yield from ()

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        """Its rows of the panel, in `width` cells. Bars and numbers have a fixed width, so that nothing jumps."""
        yield from ()

    def short(self, view: TurnView) -> Line:
        """Its piece of the panel in one row."""
        return ()

    def total(self, summary: Summary) -> Iterator[tuple[str, str]]:
        """Its label and its text on the pages of statistics, for any number of answers."""
        yield from ()

    def explanation(self, view: TurnView) -> Explanation:
        """The explanation. Before anything was measured, it says what the figure will show."""
        return Explanation(self.label, (self.opening(view), *self.paragraphs(view)), self.more, self.value(view))

    def row(self, *pieces: Piece, label: str | None = None, spare: int = 0) -> Row:
        """A row of the panel with the label before it."""
        return Row((labelled(self.label if label is None else label), *pieces), spare, self)

    def flowing(self, label: str, groups: Iterable[Line], width: int, spare: int) -> Iterator[Row]:
        """Groups of pieces in as many rows as they need. A group is never split; blanks at its end may be cut off."""
        lines: list[list[Line]] = [[(labelled(label),)] if label else []]
        for group in groups:
            text = "".join(text for text, _ in group)
            if lines[-1] and length(lines[-1]) + len(text.rstrip()) > width:
                lines.append([(labelled(""),)] if label else [])
            lines[-1].append(group)
        yield from (Row(tuple(chain.from_iterable(line)), spare, self) for line in lines)


class Row(NamedTuple):
    """A row of the panel, a gap unless it has pieces.

    Rows with a larger `spare` are dropped first when there is no room. `figure` explains the row.
    """

    pieces: Line = ()
    spare: int = 99
    figure: Figure | None = None


GAP = Row()


def labelled(text: str) -> Piece:
    """A label of the panel."""
    return text.ljust(LABEL), Style.QUIET


def room_in(width: int) -> int:
    """The cells beside a label."""
    return max(width - LABEL, 12)


def length(groups: Iterable[Line]) -> int:
    """The number of cells of these pieces."""
    return sum(len(text) for group in groups for text, _ in group)


def shaded(shares: Sequence[float], room: int) -> Iterator[Piece]:
    """A bar in which each share has its own shade. The rest stays light."""
    drawn = 0
    for (glyph, style), share in zip(_SHADES, shares, strict=False):
        cells = min(round(share * room), room - drawn)
        drawn += cells
        yield glyph * cells, style
    yield "░" * (room - drawn), Style.QUIET


def keyed(parts: Iterable[tuple[str, str]]) -> Iterator[Line]:
    """The legend of such a bar: names and texts, each with its shade; a part without a text is left out."""
    for (glyph, style), (name, text) in zip(_SHADES, parts, strict=False):
        if text:
            yield (glyph, style), (name, Style.QUIET), (text, Style.PLAIN)


def counted(number: int, what: str) -> str:
    """A number of things: `1 token`, `2 tokens`."""
    return f"{number} {what}{'' if number == 1 else 's'}"
