"""Explanations over the chat: what is explained on the left, the text of one on the right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static

from specchat.manual.sections import SectionAddress, section_at
from specchat.stats.figures import NAMED
from specchat.stats.figures.figure import Explanation, Figure
from specchat.stats.turn import TurnView
from specchat.tui.widgets.key_row import KeyRow
from specchat.tui.widgets.listing import Listing

_NARROW = 64
"""With fewer columns the list has no room beside the text."""


class ExplainScreen(ModalScreen[None]):
    """One explanation at a time."""

    CSS_PATH = "explain.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,left", "step(-1)", "Others", key_display="↑ ↓", priority=True, id="explain.up"),
        Binding("down,right", "step(1)", "Next", show=False, priority=True, id="explain.down"),
        Binding("enter", "read_more", "Read more", priority=True, id="explain.read_more"),
        Binding("pageup", "scroll(-8)", "Scroll", key_display="PgUp PgDn", id="explain.page_up"),
        Binding("pagedown,space", "scroll(8)", "Down", show=False, id="explain.page_down"),
        Binding("escape,f12,question_mark,q", "dismiss", "Back", id="explain.dismiss"),
    ]

    def __init__(
        self, explanations: Sequence[Explanation], place: int, read: Callable[[SectionAddress], None], *, title: str
    ) -> None:
        """Begin with explanation number `place`; `read` opens a section of the documentation."""
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow-text"), (_NARROW, "-beside")]
        self._explanations = explanations
        self._place = min(max(place, 0), len(explanations) - 1)
        self._read = read
        self._title = title

    def compose(self) -> ComposeResult:
        """The names beside the text."""
        with Vertical(id="panel") as panel:
            panel.border_title = Content(self._title)
            with Horizontal():
                yield Listing[Explanation](_row, id="names")
                with VerticalScroll(id="page", can_focus=False):
                    yield Static(id="text")
            yield KeyRow()

    def on_mount(self) -> None:
        """Show the first explanation."""
        names = self.query_one("#names", Listing)
        names.can_focus = False
        names.show(self._explanations, self._place)

    def on_option_list_option_highlighted(self, message: OptionList.OptionHighlighted) -> None:
        """Show the explanation that was chosen, with the keys or with the mouse."""
        self._place = message.option_index
        self._show()

    def action_step(self, steps: int) -> None:
        """Show the explanation above or below."""
        self._place = min(max(self._place + steps, 0), len(self._explanations) - 1)
        self.query_one("#names", Listing).highlighted = self._place

    def action_scroll(self, rows: int) -> None:
        """Scroll the text."""
        self.query_one("#page", VerticalScroll).scroll_relative(y=rows, animate=False, immediate=True)

    def action_read_more(self) -> None:
        """Open the documentation where it says more."""
        self._read(self._explanations[self._place].more)

    def _show(self) -> None:
        shown = self._explanations[self._place]
        section = section_at(shown.more)
        more = [Content.styled(f"More: {section.name}", "$quiet")] if section else []
        parts = [_heading(shown), *map(Content, shown.paragraphs), *more]
        self.query_one("#text", Static).update(Content("\n\n").join(parts))
        self.query_one("#page", VerticalScroll).scroll_home(animate=False)
        panel = self.query_one("#panel")
        panel.border_subtitle = f"{self._place + 1} of {len(self._explanations)}"


def figures_screen(
    view: TurnView, read: Callable[[SectionAddress], None], figure: Figure | None = None
) -> ExplainScreen:
    """The explanations of all figures with these numbers, beginning with one of them."""
    index = [*NAMED.values()].index(figure) if figure else 0
    title = "What the figures mean, with this answer's numbers" if view.figures.num_rounds else "What the figures mean"
    return ExplainScreen([figure.explanation(view) for figure in NAMED.values()], index, read, title=title)


def _heading(shown: Explanation) -> Content:
    value = f"  {shown.value}" if shown.value else ""
    return Content.assemble((shown.name, "bold $text-primary"), value)


def _row(shown: Explanation, width: int) -> Content:
    """A name, and its value at the right end if there is room."""
    room = max(width - 2, 1)
    name = Content(shown.name).truncate(room, ellipsis=True)
    free = room - name.cell_length - len(shown.value)
    return Content.assemble(name, " " * free, (shown.value, "$quiet")) if free > 0 else name
