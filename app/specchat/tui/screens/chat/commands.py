"""Slash commands, the command palette, and actions on messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from textual.app import SystemCommand

from specchat.chat.commands import invocations as asked
from specchat.chat.commands.changing import OfPresets, do_preset
from specchat.chat.commands.reading import Sources
from specchat.chat.commands.registry import COMMANDS
from specchat.chat.commands.saved import OfPrompts, OfRoles, do_prompt, do_role
from specchat.chat.commands.tagging import OfTags, do_tag
from specchat.chat.history import as_typed
from specchat.chat.server_limits import refused
from specchat.chat.variables import variables
from specchat.errors import ExportExists, SpecchatError
from specchat.settings.paths import expanded
from specchat.terminal.clipboard import copy
from specchat.tui.screens.chat.parts import ChatParts
from specchat.tui.screens.chat.view import LOADING, message_id
from specchat.tui.transcript.answer import Answer
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.transcript.view import RAW_FORMULAS
from specchat_engine.errors import SettingError
from specchat_engine.settings import USUAL_K


async def perform(parts: ChatParts, invocation: asked.Invocation) -> None:
    """Does what a command asks for. A note says why something cannot be done now."""
    if why := refused(invocation, parts.state.session.server):
        parts.view.note(why)
        return
    match invocation:
        case asked.ShowHelp(about):
            parts.panels.show_help(about)
        case asked.ExplainFigure(figure):
            await parts.answer_windows.explain(figure)
        case asked.NewSession(title):
            await parts.conversations.new(title)
        case asked.ShowSessions(query):
            parts.panels.show_sessions(query)
        case asked.Change() | asked.Speculate():
            _change_settings(parts, invocation)
        case asked.Reload():
            parts.loader.load_again(invocation.applied)
        case asked.SetSeed(seed):
            parts.conversations.set_seed(seed)
        case asked.SetSystem(text):
            parts.conversations.set_system(text)
        case asked.ShowSystem():
            parts.conversations.show_system()
        case asked.ApplyPreset() | asked.SavePreset() | asked.ForgetPreset():
            _preset(parts, invocation)
        case asked.UsePrompt() | asked.SavePrompt() | asked.ForgetPrompt():
            _prompt(parts, invocation)
        case asked.UseRole() | asked.SaveRole() | asked.ForgetRole():
            _role(parts, invocation)
        case asked.SetTags() | asked.ForgetTags():
            _tag(parts, invocation)
        case asked.RunCommand(command):
            parts.shell.start(command)
        case asked.SetTheme(name):
            _set_theme(parts, name)
        case asked.UseSwitch("math", on):
            _show_formulas(parts, on)
        case asked.UseSwitch(_, on):
            _use_vi_keys(parts, on)
        case asked.Regenerate():
            parts.turns.regenerate()
        case asked.EditLast():
            parts.turns.edit()
        case asked.EditAnswer(text):
            parts.turns.edit_answer(text)
        case asked.ShowBeside(what):
            await parts.beside.show(what)
        case asked.Branch():
            parts.conversations.fork()
        case asked.Clear():
            parts.turns.go_on_from(None)
        case asked.PasteImage():
            parts.view.prompt.paste_image()
        case asked.Predict(file):
            parts.screen.run_worker(_predict(parts, file), group="predict", exclusive=True)
        case asked.UseStore(name, used):
            _note(parts, lambda: parts.state.session.use_store(name, on=used))
        case asked.UseTools(server, used):
            parts.tools.use(server, on=used)
        case asked.NameFile(path):
            parts.tools.name_file(path)
        case asked.Learn("show"):
            await parts.answer_windows.statistics("Learning")
        case asked.Learn(action):
            _note(parts, lambda: parts.state.session.learn(action))
        case asked.Copy(part):
            _copy_part(parts, part)
        case asked.Export(kind, path):
            await _export(parts, kind, path)
        case asked.Import(path):
            parts.view.note(f"importing {path.name} in the background")
            parts.screen.run_worker(_import(parts, path), group="import")
        case asked.StepMode(on):
            parts.step_mode.turn(on)
        case asked.LoadTarget(model):
            await parts.loader.load_target(model)
        case asked.LoadDraft(model):
            await parts.loader.load_draft(model)
        case asked.Replay(path) if path is not None:
            await parts.answer_windows.replay_file(path)
        case asked.Replay():
            await parts.answer_windows.replay(parts.view.answer_in_view())
        case asked.Race():
            await parts.answer_windows.race()
        case asked.ShowModels(role):
            parts.show_models(role)
        case asked.Verify():
            await parts.answer_windows.verify()
        case asked.Tour():
            await parts.tour.start()
        case asked.ShowStatistics(scope):
            await parts.answer_windows.statistics(scope.capitalize())
        case asked.Explain():
            await parts.answer_windows.statistics("Why")
        case asked.Quit():
            await parts.screen.app.action_quit()


async def act_on_entry(parts: ChatParts, message: Transcript.OfEntry) -> None:
    """Does what the transcript asks for."""
    key = message_id(message.entry)
    if message.entry not in parts.view.transcript.entries:
        parts.view.note("this is the other conversation: go there first")
        return
    match message:
        case Transcript.Copy():
            copy_text(parts, message.text, message.what)
        case Transcript.Request(what="export"):
            await _export(parts, "markdown")
        case Transcript.Request(what="edit"):
            parts.turns.edit(key)
        case Transcript.Request(what="regenerate"):
            parts.turns.regenerate(key)
        case Transcript.Request(what="play"):
            await parts.answer_windows.replay(key)
        case Transcript.Request(what="branch") if key is not None:
            parts.turns.go_on_from(key)
        case Transcript.Sibling() if key is not None:
            parts.turns.switch(key, message.steps)
        case Transcript.Explain() if key is not None and message.round_index is not None:
            await parts.answer_windows.explain_token(key, message.round_index, message.place or 0)
        case Transcript.Explain():
            await parts.answer_windows.explain(answer=key)
        case Transcript.Inspect() if key is not None:
            await parts.answer_windows.inspect(key, message.round_index, message.place or 0)


def palette(parts: ChatParts) -> Iterator[SystemCommand]:
    """The commands that need no argument, then what has a key and no command."""
    for command in COMMANDS:
        invocation = command.read("", Sources())
        # The app offers quitting and themes itself.
        if not isinstance(invocation, asked.Refusal | asked.Quit | asked.SetTheme):
            yield SystemCommand(f"/{command.name}", command.help, partial(perform, parts, invocation))
    yield SystemCommand("Knobs", "k, drafter, verifier, temperature and more", parts.panels.toggle_knobs)
    yield SystemCommand("View", "The answer as trace, coloured, or Markdown", parts.panels.cycle_view)
    yield SystemCommand(
        "Inspect", "The tokens of the answer in view: p, q, ranks", lambda: parts.answer_windows.inspect_in_view()
    )
    yield SystemCommand("Figures", "What each figure means", parts.panels.toggle_figures)


def _change_settings(parts: ChatParts, invocation: asked.Change | asked.Speculate) -> None:
    settings = parts.state.settings
    if settings is None:
        parts.view.note(LOADING, passing=True)
        return
    try:
        if isinstance(invocation, asked.Speculate):
            changed = invocation.applied(settings, USUAL_K)
        else:
            changed = invocation.applied(settings)
    except SettingError as error:
        parts.view.note(str(error))
    else:
        parts.turns.change_settings(changed)


def _preset(parts: ChatParts, invocation: OfPresets) -> None:
    """Saves, applies or removes a preset. A list of presets is a notice, everything else a note."""
    settings, loaded = parts.state.settings, parts.state.session.loaded
    if settings is None or loaded is None:
        parts.view.note(LOADING, passing=True)
        return
    try:
        done = do_preset(invocation, settings, loaded.recommended)
    except SpecchatError as error:
        parts.view.note(str(error))
        return
    if done.settings is not None:
        parts.turns.change_settings(done.settings)
    _tell(parts, done.words)


def _prompt(parts: ChatParts, invocation: OfPrompts) -> None:
    """Lists stored prompts, stores or removes one, or writes one into the prompt."""
    last = parts.state.last_question
    message = None if last is None else as_typed(last.content, parts.history.entries)
    try:
        done = do_prompt(invocation, message)
    except SpecchatError as error:
        parts.view.note(str(error))
        return
    if done.text is None:
        _tell(parts, done.words)
    elif parts.view.prompt.fill(done.text):
        left = ", ".join(variables(done.text))
        parts.view.note(f"fill in {left}: Tab goes to the next")


def _role(parts: ChatParts, invocation: OfRoles) -> None:
    """Lists stored roles, stores or removes one, or sets one as the system prompt."""
    try:
        done = do_role(invocation, parts.state.session.conversation.session.system)
    except SpecchatError as error:
        parts.view.note(str(error))
        return
    if done.text is not None:
        parts.conversations.set_system(done.text)
    _tell(parts, done.words)


def _tag(parts: ChatParts, invocation: OfTags) -> None:
    """Shows or changes the tags of the conversation."""
    conversation = parts.state.session.conversation
    done = do_tag(invocation, conversation.session.tags)
    if done.tags is not None:
        parts.state.archive.tagged(conversation.change(tags=done.tags))
    parts.view.note(done.words)


def _use_vi_keys(parts: ChatParts, on: bool | None) -> None:
    """Switches vi's keys in the prompt."""
    prompt = parts.view.prompt
    prompt.use_vi_keys(on := not prompt.has_vi_keys if on is None else on)
    parts.view.note("vi's keys are on: Esc, then i a o; vi_keys in config.toml" if on else "vi's keys are off")


def _show_formulas(parts: ChatParts, on: bool | None) -> None:
    """Shows formulas in Unicode or as they are written."""
    app = parts.screen.app
    raw = not app.has_class(RAW_FORMULAS) if on is None else not on
    app.set_class(raw, RAW_FORMULAS)
    for transcript in parts.screen.query(Transcript):
        transcript.lay_again()
    parts.view.note("formulas are shown " + ("as they are written" if raw else "in Unicode"))


def _tell(parts: ChatParts, words: str) -> None:
    """Shows one line as a note, and a list as a notice."""
    if "\n" in words:
        parts.view.notice(words)
    else:
        parts.view.note(words)


def copy_text(parts: ChatParts, text: str, what: str) -> None:
    """Copies a text to the clipboard; `what` names it in the note."""
    if text:
        parts.view.note(f"{what} {copy(text, parts.screen.app.copy_to_clipboard)}")
    else:
        parts.view.note(f"there is no {what} to copy yet")


def _note(parts: ChatParts, do: Callable[[], str]) -> None:
    """Notes what something gave, or why it failed."""
    try:
        parts.view.note(do())
    except SpecchatError as error:
        parts.view.note(str(error))


def _copy_part(parts: ChatParts, part: str | int) -> None:
    """Copies the last answer, its last block of code or that with a number, or the whole chat."""
    answers = [entry for entry in parts.view.transcript.entries if isinstance(entry, Answer)]
    if isinstance(part, int):
        codes = answers[-1].codes if answers else ()
        if part > len(codes):
            count = len(codes) or "no"
            parts.view.note(f"the last answer has {count} code block{'' if count == 1 else 's'}")
            return
        copy_text(parts, codes[part - 1], f"code block {part}")
        return
    if part == "chat":
        from specchat.traces.exports.document import with_calls

        said = (with_calls(message.to_message()) for message in parts.state.session.conversation.path())
        text = "\n\n".join(f"{role}: {content}" for role, content in said)
    elif part == "code":
        text = next((entry.codes[-1] for entry in reversed(answers) if entry.codes), "")
    else:
        text = answers[-1].raw if answers else ""
    copy_text(parts, text, part)


async def _export(parts: ChatParts, kind: str, path: Path | None = None, *, overwrite: bool = False) -> None:
    """Writes the conversation to a file of this kind; asks before one is replaced."""
    session = parts.state.session
    try:
        written = await parts.state.archive.export(
            session.conversation, session.loaded, kind, path, overwrite=overwrite
        )
    except ExportExists:
        from specchat.tui.screens.overwrite import OverwriteScreen

        def decided(agreed: bool | None) -> None:
            if agreed:
                parts.screen.run_worker(_export(parts, kind, path, overwrite=True), group="export")

        parts.screen.app.push_screen(OverwriteScreen(expanded(path) if path else Path()), decided)
    except SpecchatError as error:
        parts.view.notice(f"nothing was exported: {error}", failure=True)
    else:
        parts.view.notice(f"exported to {written}")


async def _predict(parts: ChatParts, file: Path) -> None:
    """Reads a file in a thread, since a document takes a moment, and says what became of it."""
    try:
        parts.view.note(await asyncio.to_thread(parts.state.session.predict, file))
    except SpecchatError as error:
        parts.view.note(str(error))


async def _import(parts: ChatParts, path: Path) -> None:
    """Imports conversations while the chat goes on."""
    from specchat.chat.importing import import_beside  # few chats need it

    parts.view.notice(await import_beside(path))


def _set_theme(parts: ChatParts, name: str | None) -> None:
    """Uses another theme; opens the list of themes if no name is given."""
    app = parts.screen.app
    if name is None:
        app.action_change_theme()
    elif name in app.available_themes:
        app.theme = name
