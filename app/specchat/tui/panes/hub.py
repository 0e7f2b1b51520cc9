"""The hub: repositories that have the words, then the models of one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from specchat.models.downloads import Wanted
from specchat.models.hub import FoundRepository, Hub, Listing
from specchat.models.hub_files import HubFile
from specchat.models.names import Group, choose
from specchat.models.patience import WAITED_FOR
from specchat.tui.model_rows import file_row, repository_row, verdict_lines
from specchat.tui.panes.pane import Pane
from specchat.tui.panes.roles import Role
from specchat_engine.pairing import Verdict

_MOST = 50


@dataclass(frozen=True, slots=True)
class File:
    """One model of the repository that is open."""

    listing: Listing
    model: Group[HubFile]
    usual: bool
    here: bool

    @property
    def name(self) -> str:
        """What `models pull` takes."""
        return f"{self.listing.repository}:{self.model.quantisation or self.model.path}"


Judge = Callable[[Group[HubFile], Role], Verdict]
"""The verdict on a model of the hub as a target, or as a draft of the present target, by its header. It blocks."""


class HubPane(Pane[FoundRepository | File]):
    """Type and press Enter to search; Enter opens a repository, and then judges and downloads a model of it."""

    PLACEHOLDER = "words in a repository's name, or USER/REPO, then Enter"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Go on", priority=True, id="models.choose"),
        Binding("f4", "judge('target')", "Verdict", priority=True, id="models.judge_target"),
        Binding("f5", "judge('draft')", "… as a draft", priority=True, id="models.judge_draft"),
    ]

    def __init__(self, judge: Judge, role: Role | None, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self._judge = judge
        self._role: Role = role or "target"
        self._searched: str | None = None
        self._repositories: list[FoundRepository | File] = []
        self._place = 0
        self._verdicts: dict[str, tuple[Role, Verdict]] = {}

    def row(self, item: FoundRepository | File, width: int) -> Content:
        """A repository, or one of its models."""
        if isinstance(item, FoundRepository):
            return repository_row(item, width)
        return file_row(item.model, width, usual=item.usual, here=item.here)

    def about(self, item: FoundRepository | File) -> Content:
        """What is known of it before it is here."""
        if isinstance(item, FoundRepository):
            gated = "\nIt is gated: its conditions have to be accepted on its page first." if item.gated else ""
            return Content(f"{item.likes:,} likes · Enter lists its models{gated}")
        if item.name not in self._verdicts:
            return Content.styled("Enter judges it by its header, before anything is downloaded.", "$quiet")
        role, verdict = self._verdicts[item.name]
        as_what = "As the target" if role == "target" else "As the draft of the present target"
        last = "Enter downloads it." if verdict.fits else "It does not fit; Enter downloads it all the same."
        return Content("\n").join([Content(f"{as_what}:"), verdict_lines(verdict), Content.styled(last, "$quiet")])

    def choose(self) -> None:
        """Searches, opens a repository, judges a model, downloads it: whichever is next."""
        chosen = self.listing.chosen
        if self.typed != (self._searched or ""):
            self._search()
        elif isinstance(chosen, FoundRepository):
            self._place = self.listing.highlighted or 0
            self._open(chosen.id)
        elif chosen is not None and chosen.name not in self._verdicts:
            self._judge_chosen(self._role)
        elif chosen is not None:
            role, _ = self._verdicts[chosen.name]
            model = chosen.model
            self.post_message(
                self.Fetch(Wanted(chosen.name, model) if role == "target" else Wanted(chosen.name, None, model))
            )

    def action_judge(self, role: Role) -> None:
        """Reads the header of the chosen model where it is."""
        self.after_typing(lambda: self._judge_chosen(role))

    def _judge_chosen(self, role: Role) -> None:
        chosen = self.listing.chosen
        if not isinstance(chosen, File):
            return
        if chosen.model.missing:
            self.say(f"{chosen.listing.repository} lacks {chosen.model.missing[0]}: choose another model")
            return

        def know(verdict: Verdict) -> None:
            self._verdicts[chosen.name] = (role, verdict)
            self.tell()
            self.say("")

        self.ask(f"reading the header of {chosen.name} …", lambda: self._judge(chosen.model, role), know)

    def back(self) -> bool:
        """From a repository back to what was found."""
        if not isinstance(self.listing.chosen, File) or not self._repositories:
            return False
        self.show(self._repositories, self._place)
        self.say("")
        return True

    def _search(self) -> None:
        text = self._searched = self.typed
        if "/" in text.strip("/"):
            self._repositories = []
            self._open(text)
        elif text:
            self.ask(f"searching for {text!r} …", lambda: Hub(WAITED_FOR).search(text, _MOST), self._found)

    def _found(self, found: list[FoundRepository]) -> None:
        self._repositories = [*found]
        self.show(self._repositories, 0)
        more = f" {_MOST} are shown; more words narrow it." if len(found) == _MOST else ""
        self.say(f"most downloaded first.{more}" if found else "no GGUF repository has these words: try fewer")

    def _open(self, name: str) -> None:
        def find() -> list[FoundRepository | File]:
            from specchat.models.cache import is_installed, place_of
            from specchat.models.environment import hub_environment
            from specchat.models.references import split_reference

            listing, environment = Hub(WAITED_FOR).files(split_reference(name)[0]), hub_environment()
            usual = choose([model for model in listing.models if not model.missing], "")
            return [
                File(
                    listing,
                    model,
                    model is usual,
                    all(is_installed(file, place_of(file, environment)) for file in model.files),
                )
                for model in listing.models
            ]

        self.ask(f"listing {name} …", find, self._listed)

    def _listed(self, files: list[FoundRepository | File]) -> None:
        usual = next((place for place, one in enumerate(files) if isinstance(one, File) and one.usual), 0)
        self.show(files, usual)
        if not files:
            self.say("this repository has no GGUF file: search for one whose name ends in GGUF")
            return
        first = files[0]
        gated = isinstance(first, File) and first.listing.gated
        self.say(
            "gated: accept its conditions on its page and log in before you download" if gated else "Esc goes back"
        )
