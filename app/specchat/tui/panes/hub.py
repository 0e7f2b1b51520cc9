"""The hub: a search for repositories, then the models of one repository."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from specchat.chat.commands.model import Role
from specchat.models.control import INTERACTIVE
from specchat.models.downloads import Wanted
from specchat.models.hub import FoundRepository, Hub, RepositoryListing
from specchat.models.model_files import HubFile, ModelFileGroup, choose
from specchat.tui.panes.pane import Pane
from specchat.tui.widgets.model_rows import file_row, repository_row, verdict_lines
from specchat_engine.pairing import PairVerdict

_MOST = 50


@dataclass(frozen=True, slots=True)
class RepositoryModel:
    """One model of the open repository."""

    listing: RepositoryListing
    model: ModelFileGroup[HubFile]
    usual: bool
    here: bool

    @property
    def name(self) -> str:
        """The name for `models pull`."""
        return f"{self.listing.repository}:{self.model.quantisation or self.model.path}"


Judge = Callable[[ModelFileGroup[HubFile], Role, ModelFileGroup[HubFile] | None], PairVerdict]
"""Judges a model of the hub by its header, as a target or as a draft. It blocks.

A draft is judged for the last argument, a target of the hub, or else for the loaded target.
"""


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on a model in a role. `target` is the model of the hub that it would draft for."""

    role: Role
    verdict: PairVerdict
    target: RepositoryModel | None = None


class HubPane(Pane[FoundRepository | RepositoryModel]):
    """Enter searches, opens a repository, judges a model, and downloads it.

    After a model was judged as a target, drafts are judged for it, and both are downloaded together.
    """

    PLACEHOLDER = "words in a repository's name, or USER/REPO, then Enter"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Go on", id="models.choose"),
        Binding("f4", "judge('target')", "Verdict", id="models.judge_target"),
        Binding("f5", "judge('draft')", "… as a draft", id="models.judge_draft"),
    ]

    def __init__(self, judge: Judge, role: Role | None, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self._judge = judge
        self._role: Role = role or "target"
        self._searched: str | None = None
        self._repositories: list[FoundRepository | RepositoryModel] = []
        self._place = 0
        self._target: RepositoryModel | None = None
        self._verdicts: dict[str, Judged] = {}

    def row(self, item: FoundRepository | RepositoryModel, width: int) -> Content:
        """A repository, or one of its models."""
        if isinstance(item, FoundRepository):
            return repository_row(item, width)
        return file_row(item.model, width, usual=item.usual, here=item.here)

    def about(self, item: FoundRepository | RepositoryModel) -> Content:
        """What is known about it before the download."""
        if isinstance(item, FoundRepository):
            gated = "\nIt is gated: accept its conditions on its page first." if item.gated else ""
            return Content(f"{item.likes:,} likes · Enter lists its models{gated}")
        if item.name not in self._verdicts:
            return Content.styled("Enter judges it by its header, before anything is downloaded.", "$quiet")
        judged = self._verdicts[item.name]
        fits = judged.verdict.fits
        what = "it" if judged.target is None else "both"
        last = f"Enter downloads {what}." if fits else f"It does not fit; Enter downloads {what} anyway."
        if judged.role == "target" and fits:
            last += " F5 on another model judges it as this one's draft, before either is here."
        lines = [Content(f"{_as_what(judged)}:"), verdict_lines(judged.verdict), Content.styled(last, "$quiet")]
        return Content("\n").join(lines)

    def choose(self) -> None:
        """Search, open a repository, judge a model, or download it: whichever is next."""
        chosen = self.listing.chosen
        if self.typed != (self._searched or ""):
            self._search()
        elif isinstance(chosen, FoundRepository):
            self._place = self.listing.highlighted or 0
            self._open(chosen.id)
        elif chosen is not None and chosen.name not in self._verdicts:
            self._judge_chosen(self._role)
        elif chosen is not None:
            self.post_message(self.Fetch(_wanted(chosen, self._verdicts[chosen.name])))

    def action_judge(self, role: Role) -> None:
        """Read the header of the chosen model on the hub."""
        self._judge_chosen(role)

    def _judge_chosen(self, role: Role) -> None:
        chosen = self.listing.chosen
        if not isinstance(chosen, RepositoryModel):
            return
        if chosen.model.missing:
            self.say(f"{chosen.listing.repository} lacks {chosen.model.missing[0]}: choose another model")
            return

        beside = self._target if role == "draft" and self._target and self._target.name != chosen.name else None

        def know(verdict: PairVerdict) -> None:
            self._verdicts[chosen.name] = Judged(role, verdict, beside)
            if role == "target" and verdict.fits:
                self._target = chosen
            self.show_details()
            self.say("")

        self.ask(
            f"reading the header of {chosen.name} …",
            lambda: self._judge(chosen.model, role, beside.model if beside else None),
            know,
        )

    def back(self) -> bool:
        """Go from a repository back to the search results."""
        if not isinstance(self.listing.chosen, RepositoryModel) or not self._repositories:
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
            self.ask(f"searching for {text!r} …", lambda: Hub(INTERACTIVE).search(text, _MOST), self._found)

    def _found(self, repositories: list[FoundRepository]) -> None:
        self._repositories = [*repositories]
        self.show(self._repositories, 0)
        more = f" {_MOST} are shown; more words narrow it." if len(repositories) == _MOST else ""
        self.say(f"most downloaded first.{more}" if repositories else "no GGUF repository has these words: try fewer")

    def _open(self, name: str) -> None:
        def find() -> list[FoundRepository | RepositoryModel]:
            from specchat.models.cache import is_installed, place_of
            from specchat.models.environment import hub_environment
            from specchat.models.hub import split_reference

            listing, environment = Hub(INTERACTIVE).files(split_reference(name)[0]), hub_environment()
            usual = choose([model for model in listing.models if not model.missing], "")
            return [
                RepositoryModel(
                    listing,
                    model,
                    model is usual,
                    all(is_installed(file, place_of(file, environment)) for file in model.files),
                )
                for model in listing.models
            ]

        self.ask(f"listing {name} …", find, self._listed)

    def _listed(self, files: list[FoundRepository | RepositoryModel]) -> None:
        usual = next((index for index, file in enumerate(files) if isinstance(file, RepositoryModel) and file.usual), 0)
        self.show(files, usual)
        if not files:
            self.say("this repository has no GGUF file: search for one whose name ends in GGUF")
            return
        first = files[0]
        gated = isinstance(first, RepositoryModel) and first.listing.gated
        self.say(
            "gated: accept its conditions on its page and log in before you download" if gated else "Esc goes back"
        )


def _as_what(judged: Judged) -> str:
    if judged.role == "target":
        return "As the target"
    return f"As the draft of {judged.target.name if judged.target else 'the present target'}"


def _wanted(chosen: RepositoryModel, judged: Judged) -> Wanted:
    if judged.role == "target":
        return Wanted(chosen.name, chosen.model)
    if judged.target is None:
        return Wanted(chosen.name, None, chosen.model)
    return Wanted(f"{judged.target.name} + {chosen.name}", judged.target.model, chosen.model)
