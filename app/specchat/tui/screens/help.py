"""The help: keys, colours, figures, commands, and a search over all of it and the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static

from specchat.chat.commands.registry import commands
from specchat.chat.help_sections import help_search
from specchat.manual.search import Hit, ManualSearch
from specchat.manual.sections import Section, SectionAddress, beside, section_at
from specchat.terminal.filter import clean_line
from specchat.tui.pace import Throttle
from specchat.tui.screens.help_page import help_page, key_sections
from specchat.tui.screens.help_section import SectionText
from specchat.tui.widgets.key_row import KeyRow
from specchat.tui.widgets.listing import Listing, marked
from specchat.tui.widgets.search_field import SearchField

_PAUSE = 0.12
_PLACEHOLDER = "type to search the help and the documentation"
_MOST_LINKS = 9


class HelpScreen(ModalScreen[None]):
    """One window over the chat: the page of keys, the results of a search, or one section to read.

    The class `-results` shows the results, `-reading` a section, neither the page. The search has the keyboard unless a
    section is read.
    """

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "read", "Read", id="help.read"),
        Binding("left", "beside(-1)", "Sections", key_display="← →", id="help.section_back"),
        Binding("right", "beside(1)", "Section after", show=False, id="help.section_on"),
        Binding("up", "move(-1)", "Move", key_display="↑ ↓", id="help.up"),
        Binding("down", "move(1)", "Down", show=False, id="help.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="help.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="help.page_down"),
        *(
            Binding(str(number), f"link({number})", "Link", show=False, id=f"help.link_{number}")
            for number in range(1, _MOST_LINKS + 1)
        ),
        Binding("slash", "search", "Search", key_display="/", id="help.search"),
        Binding("escape", "back", "Back", id="help.back"),
        Binding("f1", "dismiss", "Close", id="help.close"),
    ]

    def __init__(
        self,
        keymap: Mapping[str, str] | None = None,
        about: str | None = None,
        *,
        place: SectionAddress | None = None,
    ) -> None:
        """`keymap` holds the user's own keys. `about` is a command, shown first, or words to search for; `place` is a
        section to open with."""
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = [(0, "-stacked"), (64, "-wide-help")]
        self._keymap = keymap or {}
        self._command = commands().get(about or "")
        self._words = "" if self._command else about or ""
        self._first = section_at(place) if place else None
        self._section: Section | None = None
        self._search: ManualSearch | None = None
        self._searching = Throttle(self, _PAUSE, self._find_typed)

    def compose(self) -> ComposeResult:
        """The search above the page, the results or the section."""
        with Vertical(id="panel") as panel:
            panel.border_title = "specchat help"
            yield SearchField(self._words, placeholder=_PLACEHOLDER, catch_up=self._catch_up, id="search")
            yield VerticalScroll(id="page", can_focus=False)
            yield Listing[Hit](_draw, id="results")
            yield Static(id="nothing")
            yield SectionText(id="section")
            yield KeyRow()

    def on_mount(self) -> None:
        """Show the section to open with, or search for the words."""
        self.query_one("#results", Listing).can_focus = False
        if self._first is not None:
            self._open(self._first)
        else:
            self._find()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what the view can do. Keys that it cannot use go to the search."""
        match action:
            case "read":
                return self.has_class("-results")
            case "beside" | "search":
                return self._section is not None
            case "link":
                number = parameters[0]
                return self._section is not None and isinstance(number, int) and number <= len(self._section.links)
        return True

    def on_input_changed(self) -> None:
        """Search for what is typed."""
        self._searching.request()

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        """Open the section that was clicked."""
        self._open(self.query_one("#results", Listing).items[message.option_index].section)

    def action_read(self) -> None:
        """Open the chosen result."""
        hit = self.query_one("#results", Listing).chosen
        if hit is not None:
            self._open(hit.section)

    def action_beside(self, steps: int) -> None:
        """Open the section before or after on the same page."""
        if self._section is not None:
            self._open(beside(self._section, steps))

    def action_link(self, number: int) -> None:
        """Open the page with this number among the links of the section."""
        section = None if self._section is None else section_at(self._section.links[number - 1])
        if section is not None:
            self._open(section)

    def action_search(self) -> None:
        """Go from a section to the search."""
        self._find()

    def action_move(self, steps: int) -> None:
        """Choose another result, or scroll."""
        if self.has_class("-results"):
            self.query_one("#results", Listing).move("cursor_up" if steps < 0 else "cursor_down")
        else:
            self._shown_page.scroll_relative(y=steps, animate=False, immediate=True)

    def action_page(self, steps: int) -> None:
        """The same by pages."""
        if self.has_class("-results"):
            self.query_one("#results", Listing).move("page_up" if steps < 0 else "page_down")
        else:
            page = self._shown_page
            page.scroll_relative(y=steps * max(page.size.height - 1, 1), animate=False, immediate=True)

    def action_back(self) -> None:
        """Go back from a section to the results, or close the help."""
        if self._section is not None and self._typed:
            self._show("-results")
        else:
            self.dismiss()

    @property
    def _typed(self) -> str:
        return self.query_one(SearchField).value.strip()

    @property
    def _shown_page(self) -> VerticalScroll:
        return self.query_one("#section" if self._section is not None else "#page", VerticalScroll)

    def _find_typed(self) -> None:
        """Show the results, unless they are shown already."""
        if self._typed != self._words:
            self._find()

    async def _catch_up(self) -> None:
        """Show what is typed before a key acts on it."""
        self._find_typed()

    def _find(self) -> None:
        """Show the results for what is typed; the first page if that is nothing."""
        words = self._words = self._typed
        if not words:
            self._show("")
            return
        if self._search is None:
            self._search = help_search((*key_sections(self._keymap),))
        hits = self._search.find(words)
        self.query_one("#results", Listing).show(hits, 0)
        nothing = "" if hits else f"nothing in the help has “{clean_line(words)}”"
        self.query_one("#nothing", Static).update(Content(nothing))
        self._show("-results")

    def _open(self, section: Section) -> None:
        """Show a section."""
        self.query_one(SectionText).show(section)
        self._show("-reading", section)

    def _show(self, view: str, section: Section | None = None) -> None:
        self._section = section
        page = self.query_one("#page", VerticalScroll)
        if not view and not page.children:
            page.mount_all(help_page(self._keymap, self._command))
        for name in ("-results", "-reading"):
            self.set_class(name == view, name)
        (self.query_one(SearchField) if section is None else self.query_one(SectionText)).focus()
        panel = self.query_one("#panel")
        panel.border_title = Content(f"specchat help · {section.name}" if section else "specchat help")
        count = len(self.query_one("#results", Listing).items)
        panel.border_subtitle = f"{count} found" if view == "-results" else ""
        self.refresh_bindings()


def read_docs(app: App[object], place: SectionAddress) -> None:
    """Opens a section of the documentation over an app without a chat."""
    app.push_screen(HelpScreen(place=place))


def _draw(hit: Hit, width: int) -> Content:
    """The heading with its page, and the text around a match."""
    room = max(width - 2, 8)
    section = hit.section
    page = f"  {section.title}" if section.place.heading else ""
    name = Content.assemble((section.heading, "bold"), (page, "$quiet")).truncate(room, ellipsis=True)
    below = marked(" ".join(hit.excerpt.split())).truncate(room, ellipsis=True).stylize_before("$quiet")
    return Content("\n").join([name, below])
