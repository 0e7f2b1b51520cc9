"""The windows about models: what they are given by the chat, and what is done with their results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.chat.commands.invocations import Role
from specchat.models.candidates import Candidate, judge_drafts, reported_alpha
from specchat.models.control import INTERACTIVE
from specchat.models.downloads import Wanted
from specchat.models.headers import remote_header
from specchat.models.hub import Hub
from specchat.models.last_pairs import read_timings
from specchat.models.library import Entry, loadable_models
from specchat.models.machine import ask_machine
from specchat.models.model_files import Group, HubFile
from specchat.tui.downloading import downloading
from specchat.tui.screens.drafts import DraftsScreen, PickedDraft
from specchat.tui.screens.models import Around, ChooseDraft, LoadPair, ModelsScreen
from specchat.tui.widgets.download_bar import DownloadBar
from specchat_engine.gguf.files import read_model
from specchat_engine.pairing import Verdict, judge

if TYPE_CHECKING:
    from specchat.tui.screens.reloading import ReloadingScreen


def show_models(chat: ReloadingScreen, role: Role | None = None, part: str = "here", first: str = "") -> None:
    """The model browser, with the pair `first` before the other recommended ones; what is chosen there is loaded."""
    options = chat.options
    loaded = [path for path in (options.target, options.draft) if path is not None]

    def fetch(wanted: Wanted) -> None:
        downloading(chat.app).all.start(wanted)
        chat.query_one(DownloadBar).follow()

    async def chosen(result: LoadPair | ChooseDraft | None) -> None:
        if isinstance(result, ChooseDraft):
            show_drafts(chat, result.target)
        elif result is not None:
            await chat.load_pair(result.target, result.draft)
        elif downloading(chat.app).views():
            chat.query_one(DownloadBar).follow()

    around = Around(
        models=lambda: loadable_models(loaded),
        place=lambda: ask_machine(bandwidth=True),
        judge=lambda model, role, target: _judged(chat, model, role, target),
        downloads=downloading(chat.app).all,
        fetch=fetch,
        wanted=_wanted,
        loaded=loaded,
        options=options.options,
    )
    chat.app.push_screen(ModelsScreen(around, role, part, first), chosen)


def show_drafts(chat: ReloadingScreen, target: Path | None = None) -> None:
    """The drafts for this target, or for the one that is loaded; what is picked is loaded."""
    options = chat.options
    big = target or options.target

    def judged() -> Iterator[Candidate]:
        return judge_drafts(big, loadable_models((big,)), options.options, ask_machine().machine)

    timer = chat.draft_timer(big)

    async def picked(result: PickedDraft | None) -> None:
        if result is not None:
            await chat.reload(replace(chat.options, target=big, draft=result.draft))
        if timer.used:
            chat.load_back()

    speedups = {Path(one.draft): one.speedup for one in read_timings(big)}
    chat.app.push_screen(DraftsScreen(big.stem, judged, timer, speedups), picked)


def _wanted(entry: Entry) -> Wanted:
    """The files of a model that has been downloaded in part."""
    return Wanted(entry.name, Hub(INTERACTIVE).model(entry.name))


def _judged(chat: ReloadingScreen, model: Group[HubFile], role: Role, target: Group[HubFile] | None) -> Verdict:
    """The verdict on a model that is still on the hub, by its header; a draft's for this target or the loaded one."""
    options = chat.options
    header, machine = remote_header(model.files, INTERACTIVE), ask_machine().machine
    if role == "target":
        return judge(header, None, options.options, machine)
    if target is None:
        return judge(read_model(options.target), header, options.options, machine)
    alpha = reported_alpha(target.files[0].repository, model.files[0].repository)
    return judge(remote_header(target.files, INTERACTIVE), header, options.options, machine, alpha=alpha)
