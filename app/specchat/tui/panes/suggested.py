"""Known models and pairs that fit this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from specchat.models.control import INTERACTIVE
from specchat.models.downloads import Wanted
from specchat.models.machine import ComputeDevice
from specchat.models.pass_costs import Measured, judge_here
from specchat.models.recommended import basis, note, suggestions
from specchat.models.suggestion import Suggestion
from specchat.terminal.filter import clean_line
from specchat.tui.panes.pane import Pane
from specchat.tui.widgets.listing import suggestion_row
from specchat.tui.widgets.model_rows import verdict_lines
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import Machine
from specchat_engine.pairing import PairVerdict


class SuggestedPane(Pane[Suggestion]):
    """What is fastest here, with sizes and expected speeds. F4 judges it by its headers, Enter downloads it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Download", priority=True, id="models.choose"),
        Binding("f4", "judge", "Details and verdict", priority=True, id="models.judge"),
    ]

    def __init__(
        self,
        place: Callable[[], ComputeDevice],
        costs: Callable[[Machine], Measured],
        options: LoadOptions,
        first: str = "",
        *,
        id: str,  # noqa: A002
    ) -> None:
        """`costs` are the pass costs of this machine; `first` is the title that is chosen at the start."""
        super().__init__(id=id)
        self._place = place
        self._costs = costs
        self._options = options
        self._first = first
        self._verdicts: dict[str, PairVerdict] = {}

    def on_mount(self) -> None:
        """Find what fits this machine."""
        super().on_mount()

        def look() -> tuple[list[Suggestion], str]:
            device = self._place()
            known = suggestions(device, self._costs(device.machine))
            return known, f"For {device.words}. {basis(device)} {note(device, known)}".rstrip()

        self.ask("looking at this machine …", look, self._know)

    def row(self, item: Suggestion, width: int) -> Content:
        """One suggestion."""
        return suggestion_row(item, width)

    def about(self, item: Suggestion) -> Content:
        """Its files, the reason, the sources of its figures, and the verdict if there is one."""
        lines = [Content(f"{item.target}  ⇠  {item.draft or 'prompt lookup'}")]
        lines += [Content.styled(clean_line(line), "$quiet") for line in item.lines()]
        if (verdict := self._verdicts.get(item.title)) is not None:
            lines.append(verdict_lines(verdict))
        return Content("\n").join(lines)

    def choose(self) -> None:
        """Download the target, and the draft if there is one."""
        chosen = self.listing.chosen
        if chosen is None:
            return

        def find() -> Wanted:
            from specchat.models.hub import Hub

            hub = Hub(INTERACTIVE)
            draft = hub.model(chosen.draft) if chosen.draft else None
            return Wanted(chosen.title, hub.model(chosen.target), draft)

        self.ask(f"asking the hub for {chosen.title} …", find, self._fetch)

    def action_judge(self) -> None:
        """Read the headers on the hub and judge them."""
        chosen = self.listing.chosen
        if chosen is None:
            return

        def find() -> PairVerdict:
            from specchat.models.headers import model_info
            from specchat.models.hub import Hub

            target = model_info(chosen.target, Hub(INTERACTIVE)).header
            draft = model_info(chosen.draft, Hub(INTERACTIVE)).header if chosen.draft else None
            machine = self._place().machine
            return judge_here(target, draft, self._options, machine, self._costs(machine), chosen.pair)

        def know(verdict: PairVerdict) -> None:
            self._verdicts[chosen.title] = verdict
            self.show_details()
            self.say("")

        self.ask(f"reading the header of {chosen.title} …", find, know)

    def _fetch(self, wanted: Wanted) -> None:
        self.say("")
        self.post_message(self.Fetch(wanted))

    def _know(self, known: tuple[list[Suggestion], str]) -> None:
        titles = [suggestion.title for suggestion in known[0]]
        self.show(known[0], titles.index(self._first) if self._first in titles else 0)
        self.say(known[1] if known[0] else f"no known model fits and is fast enough. {known[1]}", calm=True)
