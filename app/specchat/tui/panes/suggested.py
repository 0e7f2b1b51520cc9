"""Known pairs that fit this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from specchat.models.control import INTERACTIVE
from specchat.models.downloads import Wanted
from specchat.models.machine import Place
from specchat.models.recommended import Suggestion, basis, suggestions
from specchat.terminal.filter import clean_line
from specchat.tui.panes.pane import Pane
from specchat.tui.widgets.listing import suggestion_row
from specchat.tui.widgets.model_rows import verdict_lines
from specchat_engine.load_options import LoadOptions
from specchat_engine.pairing import Verdict


class SuggestedPane(Pane[Suggestion]):
    """Pairs with their sizes and expected speeds. F4 judges a pair by its headers, Enter downloads both models."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Download both", priority=True, id="models.choose"),
        Binding("f4", "judge", "Details and verdict", priority=True, id="models.judge"),
    ]

    def __init__(self, place: Callable[[], Place], options: LoadOptions, first: str = "", *, id: str) -> None:  # noqa: A002
        """`first` is the title of the pair that is chosen at the start."""
        super().__init__(id=id)
        self._place = place
        self._options = options
        self._first = first
        self._verdicts: dict[str, Verdict] = {}

    def on_mount(self) -> None:
        """Find pairs that fit this machine."""
        super().on_mount()

        def look() -> tuple[list[Suggestion], str]:
            place = self._place()
            return suggestions(place), f"For {place.words}. {basis(place)}"

        self.ask("looking at this machine …", look, self._know)

    def row(self, item: Suggestion, width: int) -> Content:
        """One pair."""
        return suggestion_row(item, width)

    def about(self, item: Suggestion) -> Content:
        """Its files, the sources of its figures, and the verdict if there is one."""
        lines = [Content(f"{item.target}  ⇠  {item.draft}")]
        lines += [Content.styled(clean_line(line), "$quiet") for line in item.sources()]
        if (verdict := self._verdicts.get(item.title)) is not None:
            lines.append(verdict_lines(verdict))
        return Content("\n").join(lines)

    def choose(self) -> None:
        """Download both models."""
        chosen = self.listing.chosen
        if chosen is None:
            return

        def find() -> Wanted:
            from specchat.models.hub import Hub

            hub = Hub(INTERACTIVE)
            return Wanted(chosen.title, hub.model(chosen.target), hub.model(chosen.draft))

        self.ask(f"asking the hub for {chosen.title} …", find, self._fetch)

    def action_judge(self) -> None:
        """Read both headers on the hub and judge the pair."""
        chosen = self.listing.chosen
        if chosen is None:
            return

        def find() -> Verdict:
            from specchat.models.headers import model_info
            from specchat.models.hub import Hub
            from specchat_engine.pairing import judge

            one, two = (model_info(name, Hub(INTERACTIVE)) for name in (chosen.target, chosen.draft))
            alpha = chosen.recommendation.pair.alpha
            return judge(one.header, two.header, self._options, self._place().machine, alpha=alpha)

        def know(verdict: Verdict) -> None:
            self._verdicts[chosen.title] = verdict
            self.tell()
            self.say("")

        self.ask(f"reading the headers of {chosen.title} …", find, know)

    def _fetch(self, wanted: Wanted) -> None:
        self.say("")
        self.post_message(self.Fetch(wanted))

    def _know(self, found: tuple[list[Suggestion], str]) -> None:
        titles = [one.title for one in found[0]]
        self.show(found[0], titles.index(self._first) if self._first in titles else 0)
        self.say(found[1] if found[0] else f"no known pair fits. {found[1]}", calm=True)
