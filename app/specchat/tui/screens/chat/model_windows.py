"""The windows about models: what the chat gives them, and what it does with their results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

from textual.widget import Widget

from specchat.chat.commands.model import Role
from specchat.engine_process.engine_client import EngineClient
from specchat.engine_process.records import kept_costs
from specchat.models.candidates import DraftCandidate, judge_drafts, known_pair
from specchat.models.chosen_pair import remember_welcome
from specchat.models.control import INTERACTIVE
from specchat.models.downloads import Wanted
from specchat.models.headers import remote_header
from specchat.models.hub import Hub
from specchat.models.last_pairs import read_timings
from specchat.models.library import LibraryModel, loadable_models
from specchat.models.machine import ask_machine
from specchat.models.model_files import HubFile, ModelFileGroup
from specchat.models.pass_costs import judge_here
from specchat.models.recommended import few, note, suggestions
from specchat.tui.draft_timer import DraftTimer
from specchat.tui.screens.chat.model_loader import ModelLoader
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.drafts import DraftsScreen, PickedDraft
from specchat.tui.screens.first_run import FirstRunScreen, Fitting, WelcomeRow, WelcomeStep
from specchat.tui.screens.models import Around, ChooseDraft, LoadPair, ModelsScreen
from specchat.tui.widgets.download_bar import DownloadBar
from specchat.tui.widgets.prompt import PromptInput
from specchat_engine.gguf import read_model
from specchat_engine.pairing import PairVerdict


class ModelWindows:
    """Opens the windows over the chat and loads what was chosen in them."""

    def __init__(
        self, owner: Widget, state: ChatState, client: EngineClient, loader: ModelLoader, downloads: DownloadBar
    ) -> None:
        """`owner` is a widget of the app over which the windows open."""
        self._owner = owner
        self._state = state
        self._client = client
        self._loader = loader
        self._bar = downloads

    def welcome(self, prompt: PromptInput, start_tour: Callable[[], Awaitable[None]]) -> None:
        """Opens the welcome of the first run; the next start does not show it."""
        remember_welcome()

        async def chosen(offer: WelcomeRow | None) -> None:
            if offer is None or offer.step is WelcomeStep.START:
                return
            if offer.step is WelcomeStep.TOUR:
                await start_tour()
            elif offer.step is WelcomeStep.SEARCH:
                self.browse(part="hub")
            elif offer.pair is not None:
                self.browse(part="suggested", first=offer.pair.title)
            else:
                self.browse()

        def write(text: str) -> None:
            prompt.insert(text)

        screen = FirstRunScreen(lambda: self._state.settings is not None, _fitting, write, prompt.action_send)
        self._owner.app.push_screen(screen, chosen)

    def browse(self, role: Role | None = None, part: str = "here", first: str = "") -> None:
        """Opens the model browser at one of its parts; a draft is chosen in the draft picker.

        `first` is the title of the pair that stands before the other recommended ones.
        """
        if role == "draft":
            self.pick_draft()
            return
        options = self._state.session.options
        loaded = [path for path in (options.target, options.draft) if path is not None]
        around = Around(
            models=lambda: loadable_models(loaded),
            place=lambda: ask_machine(bandwidth=True),
            costs=kept_costs,
            judge=self._judge,
            downloads=self._bar.downloads.all,
            fetch=self._bar.start,
            wanted=_wanted,
            loaded=loaded,
            options=options.load,
        )
        self._owner.app.push_screen(ModelsScreen(around, role, part, first), self._chosen)

    def pick_draft(self, target: Path | None = None) -> None:
        """Opens the picker with the drafts for this target, or for the loaded one."""
        options = self._state.session.options
        big = target or options.target
        timer = DraftTimer(self._client, big, options.load, lambda: self._state.turn is not None)

        def judged() -> Iterator[DraftCandidate]:
            machine = ask_machine().machine
            return judge_drafts(big, loadable_models((big,)), options.load, machine, kept_costs(machine))

        def picked(result: PickedDraft | None) -> None:
            if result is not None:
                self._loader.reload(replace(self._state.session.options, target=big, draft=result.draft))
            if timer.used:
                self._loader.load_back()

        self._owner.app.push_screen(DraftsScreen(big.stem, judged, timer, read_timings(big)), picked)

    async def _chosen(self, result: LoadPair | ChooseDraft | None) -> None:
        if isinstance(result, ChooseDraft):
            self.pick_draft(result.target)
        elif result is not None:
            await self._loader.load_pair(result.target, result.draft)
        elif self._bar.downloads.views():
            self._bar.follow()

    def _judge(self, model: ModelFileGroup[HubFile], role: Role, target: ModelFileGroup[HubFile] | None) -> PairVerdict:
        """Judges a model of the hub by its header; a draft is judged for this target, or for the loaded one."""
        options = self._state.session.options
        header, machine = remote_header(model.files, INTERACTIVE), ask_machine().machine
        if role == "target":
            return judge_here(header, None, options.load, machine, kept_costs(machine))
        if target is None:
            return judge_here(read_model(options.target), header, options.load, machine, kept_costs(machine))
        pair = known_pair(target.files[0].repository, model.files[0].repository)
        big = remote_header(target.files, INTERACTIVE)
        return judge_here(big, header, options.load, machine, kept_costs(machine), pair)


def _fitting() -> Fitting:
    """What suits this machine."""
    machine = ask_machine(bandwidth=True)
    known = suggestions(machine, kept_costs(machine.machine))
    return Fitting(machine.words, few(known), note(machine, known))


def _wanted(entry: LibraryModel) -> Wanted:
    """The files of a model that has been downloaded in part."""
    return Wanted(entry.name, Hub(INTERACTIVE).model(entry.name))
