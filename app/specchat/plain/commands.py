"""The slash commands of the plain chat, each answered in lines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from specchat.chat.archive import Archive
from specchat.chat.commands import invocations as asked
from specchat.chat.commands.changing import OfPresets, do_preset
from specchat.chat.commands.reading import Sources
from specchat.chat.commands.saved import OfPrompts, OfRoles, do_prompt, do_role
from specchat.chat.commands.tagging import OfTags, do_tag, with_signs
from specchat.chat.explaining import view_of
from specchat.chat.guide import NO_CALLS
from specchat.chat.knobs import settings_from
from specchat.chat.outbox import with_outputs
from specchat.chat.saved_texts import saved_prompts, saved_roles
from specchat.chat.server_limits import models_of, refused
from specchat.chat.session import ChatSession, new_conversation
from specchat.chat.variables import variables
from specchat.errors import EditorError, ExportExists, SpecchatError, TraceError
from specchat.manual.docs import section_at
from specchat.manual.search import key_words
from specchat.plain.files import PlainFiles
from specchat.plain.help import PlainHelp
from specchat.plain.paper import Paper, spoken, spoken_rejections
from specchat.plain.shell import PlainShell
from specchat.plain.tools import PlainTools
from specchat.settings.presets import preset_names
from specchat.stats.figures import FIGURES, NAMED
from specchat.stats.figures.answer import ROUNDS
from specchat.stats.figures.figure import Figure
from specchat.stats.figures.speed import in_short
from specchat.stats.turn import TurnView
from specchat.store.images import StoredImage
from specchat.store.records import StoredMessage
from specchat.terminal.editor import edited, editor_command
from specchat.traces.trace import Trace, read_trace
from specchat_assets import is_guide
from specchat_engine.errors import EngineError, SettingError
from specchat_engine.settings import USUAL_K, Settings

_MOST_SESSIONS = 10

_BY_ANSWER = ("thinking", "max_tokens", "lookup")
"""Settings that an answer keeps to its end."""


class Commands:
    """Does what a line asks for, in the conversation that it was given or in one that it opens.

    `answer` answers the last message of a session; the answer begins with the text that it is given.
    """

    def __init__(
        self,
        session: ChatSession,
        archive: Archive,
        paper: Paper,
        answer: Callable[[ChatSession, Settings, str], Trace | None],
        tools: PlainTools,
    ) -> None:
        self._session = session
        self._archive = archive
        self._paper = paper
        self._answered_by = answer
        self._tools = tools
        self._last: Trace | None = None
        self._listed: tuple[int, ...] = ()
        """The sessions that /sessions listed last."""
        self._said_no_calls = False
        self._existed: asked.Invocation | None = None
        """The export that was just refused because its file exists."""
        self._shell = PlainShell(paper)
        self._help = PlainHelp(paper)
        self.files = PlainFiles(paper, self.ask)

    def sources(self) -> Sources:
        """What commands can name."""
        loaded = self._session.loaded
        drafters = loaded.drafters if loaded else Sources().drafters
        return Sources(
            drafters,
            self._session.k_max,
            presets=preset_names,
            prompts=saved_prompts().names,
            roles=saved_roles().names,
            own_tags=dict.fromkeys(self._session.conversation.session.tags, "").items,
        )

    def ask(self, text: str, images: tuple[StoredImage, ...] = ()) -> None:
        """Answers a message with images, and with the outputs of the commands before it."""
        if images and (why := self._session.blind_because):
            self._paper.say(f"The message was not sent: {why}.")
            return
        for image in images:
            self._paper.say(f"With the image {image.label}.")
        text = with_outputs(text, self._shell.take_outputs())
        for result in self._session.conversation.close_calls():
            self._archive.said(self._session.conversation, result)
        self._archive.said(self._session.conversation, self._session.ask(text, images=images))
        self._answer()

    def perform(self, invocation: asked.Invocation) -> bool:
        """Does what a command asks for. Returns False if it ends the chat."""
        session, say = self._session, self._paper.say
        existed, self._existed = self._existed, None
        if why := refused(invocation, session.server):
            say(why)
            return True
        match invocation:
            case asked.ShowModels() if session.server is not None:
                for line in models_of(session.server).splitlines():
                    say(line)
            case asked.Quit():
                return False
            case asked.ShowHelp(about):
                self._help.tell(about)
            case asked.ExplainFigure(figure):
                self._explain(figure)
            case asked.NewSession(title):
                conversation = new_conversation(session.options)
                if title:
                    conversation.change(title=title)
                self._session, self._last = session.renewed(conversation), None
                self._tools.ask_again()
                say("A new session.")
            case asked.ShowSessions(words):
                self._sessions(words)
            case asked.Change() | asked.Speculate():
                self._change(invocation)
            case asked.ApplyPreset() | asked.SavePreset() | asked.ForgetPreset():
                self._preset(invocation)
            case asked.UsePrompt() | asked.SavePrompt() | asked.ForgetPrompt():
                self._prompt(invocation)
            case asked.UseRole() | asked.SaveRole() | asked.ForgetRole():
                self._role(invocation)
            case asked.SetTags() | asked.ForgetTags():
                self._tag(invocation)
            case asked.RunCommand(command):
                self._shell.take(command)
            case asked.SetSystem(text):
                self._archive.changed(session.conversation.change(system=text))
                say(
                    "The system message applies from the next message on."
                    if text
                    else "There is no system message any more."
                )
            case asked.ShowSystem():
                say(session.conversation.session.system or "There is no system message.")
            case asked.SetSeed(seed):
                chosen = new_conversation(session.options).session.seed if seed is None else seed
                self._archive.changed(session.conversation.change(seed=chosen))
                say(f"Seed {chosen} from the next answer on.")
            case asked.ShowStatistics():
                self._show_statistics()
            case asked.Replay(path):
                self._say_rejections(path)
            case asked.Export(kind, path):
                try:
                    written = self._archive.export(
                        session.conversation, session.loaded, kind, path, overwrite=invocation == existed
                    )
                    say(f"Exported to {asyncio.run(written)}.")
                except ExportExists:
                    self._existed = invocation
                    say(f"{path} exists. The same command again replaces it.")
                except SpecchatError as error:
                    say(f"Nothing was exported: {error}")
            case asked.Import(path):
                from specchat.chat.importing import import_beside

                say(asyncio.run(import_beside(path)))
            case asked.PasteImage():
                self.files.paste()
            case asked.Predict(path):
                self._tell(lambda: session.predict(path))
            case asked.UseStore(name, used):
                self._tell(lambda: session.use_store(name, on=used))
            case asked.UseTools(name, used):
                self._tools.use(name, on=used)
                self._say_no_calls()
            case asked.NameFile(named):
                self._tools.name_file(named)
                self._say_no_calls()
            case asked.Learn(action):
                self._tell(lambda: session.learn(action))
            case asked.Regenerate():
                self._regenerate()
            case asked.EditAnswer(text):
                self._edit_answer(text)
            case _:
                say("This command needs the screen: start specchat without --plain.")
        return True

    def _say_no_calls(self) -> None:
        """Says once that the built-in guide does not get the tools that are on."""
        on = bool(self._tools.turn().offer.functions)
        if on and not self._said_no_calls and is_guide(self._session.options.target):
            self._said_no_calls = True
            self._paper.say(NO_CALLS)

    def _tell(self, do: Callable[[], str]) -> None:
        """Says what something gave, or why it failed."""
        try:
            self._paper.say(do())
        except SpecchatError as error:
            self._paper.say(str(error))

    def _answer(self, prefix: str = "") -> None:
        if self._session.settings is not None:
            self._last = self._answered_by(self._session, self._session.settings, prefix)

    def resume(self, stored: int) -> None:
        """Continues a stored session with the present models; says what it is, or why it cannot be opened."""
        try:
            conversation = asyncio.run(self._archive.open(stored))
        except SpecchatError as error:
            self._paper.say(str(error))
            return
        if conversation is None:
            self._paper.say("This session is not there any more.")
            return
        opened = self._session.renewed(conversation)
        loaded, kept = opened.loaded, conversation.session.settings
        if loaded is not None and kept is not None:
            try:
                opened.settings = settings_from(kept, loaded.drafters, opened.k_max)
            except EngineError as error:
                self._paper.say(f"The session's settings cannot be used: {error}")
        self._session, self._last = opened, None
        self._tools.ask_again()
        count = len(conversation.path())
        self._paper.say(f"Continuing “{conversation.session.title}”: {count} message{'' if count == 1 else 's'}.")

    def _sessions(self, words: str) -> None:
        """Continues the session that was listed with this number; else lists the latest, or those with these words."""
        number = int(words) if words.isascii() and words.isdigit() else 0
        if 0 < number <= len(self._listed):
            self.resume(self._listed[number - 1])
            return
        try:
            if words:
                hits = asyncio.run(self._archive.do(lambda store: store.search(words, limit=_MOST_SESSIONS)))
                found = [hit.session for hit in hits]
            else:
                found = asyncio.run(self._archive.do(lambda store: store.sessions(_MOST_SESSIONS)))
        except SpecchatError as error:
            self._paper.say(str(error))
            return
        self._listed = tuple(session.id for session in found)
        for place, session in enumerate(found, 1):
            title = session.title or session.preview or "untitled"
            self._paper.say(f"{place}: {title} {with_signs(session.tags)}".rstrip())
        nothing = "No session has these words." if words else "There is no session yet."
        self._paper.say("/sessions and a number continues that one." if found else nothing)

    def _change(self, invocation: asked.Change | asked.Speculate) -> None:
        settings = self._session.settings
        if settings is None:
            return
        try:
            if isinstance(invocation, asked.Speculate):
                self._apply(invocation.applied(settings, USUAL_K))
            else:
                changed, knob = invocation.applied(settings), invocation.knob
                unit = "answer" if knob.setting.key in _BY_ANSWER else "round"
                self._apply(changed, f"{knob.key} is {knob.text(changed)} from the next {unit} on.")
        except SettingError as error:
            self._paper.say(str(error))

    def _preset(self, invocation: OfPresets) -> None:
        settings, loaded = self._session.settings, self._session.loaded
        if settings is None or loaded is None:
            return
        try:
            done = do_preset(invocation, settings, loaded.recommended)
        except SpecchatError as error:
            self._paper.say(str(error))
            return
        self._say_lines(done.words)
        if done.settings is not None:
            self._apply(done.settings)

    def _prompt(self, invocation: OfPrompts) -> None:
        """Sends a stored prompt; one with variables that are left is only read out."""
        last = self._session.conversation.last("user")
        try:
            done = do_prompt(invocation, last.content if last else None)
        except SpecchatError as error:
            self._paper.say(str(error))
            return
        self._say_lines(done.words)
        if done.text is not None:
            self._say_lines(done.text)
            if left := variables(done.text):
                self._paper.say(f"It needs {', '.join(left)}: /prompt {done.name} and a word for each, in this order.")
            else:
                self.files.send(done.text)

    def _role(self, invocation: OfRoles) -> None:
        conversation = self._session.conversation
        try:
            done = do_role(invocation, conversation.session.system)
        except SpecchatError as error:
            self._paper.say(str(error))
            return
        if done.text is not None:
            self._archive.changed(conversation.change(system=done.text))
        self._say_lines(done.words)

    def _tag(self, invocation: OfTags) -> None:
        conversation = self._session.conversation
        done = do_tag(invocation, conversation.session.tags)
        if done.tags is not None:
            self._archive.tagged(conversation.change(tags=done.tags))
        self._paper.say(done.words)

    def _say_lines(self, text: str) -> None:
        for line in text.splitlines():
            self._paper.say(line)

    def _apply(self, settings: Settings, message: str = "") -> None:
        session = self._session
        session.settings = settings
        session.conversation.change(settings=asdict(settings))
        self._archive.turned(session.conversation.session, settings)
        sampling = settings.sampling
        usual = f"k {settings.k}, drafter {settings.drafter}, temperature {sampling.temperature:g}."
        self._paper.say(message or usual)
        if message and (why := session.unheard(settings)):
            self._paper.say(why)

    def _show_statistics(self) -> None:
        """A sentence for each figure of the last answer."""
        view = self._view()
        if not view.figures.num_rounds:
            self._paper.say("There is no answer yet.")
            return
        self._paper.say(spoken(in_short(view)))
        for figure in FIGURES:
            if figure is not ROUNDS and (sentence := figure.sentence(view)):  # the ribbon is not there
                self._paper.say(spoken(f"{figure.label}: {sentence}"))

    def _explain(self, figure: Figure | None) -> None:
        """Explains a figure with the last answer's numbers; lists the figures if none is named."""
        if figure is None:
            self._paper.say(f"/explain and a name explains a figure: {', '.join(NAMED)}.")
            return
        explanation = figure.explanation(self._view())
        for paragraph in explanation.paragraphs:
            self._paper.say(spoken(paragraph))
        if (more := section_at(explanation.more)) is not None:
            self._paper.say(f"More: /help {key_words(more.heading).lower()}")

    def _view(self) -> TurnView:
        """The figures of the last answer; none before it."""
        memory = self._session.loaded.memory if self._session.loaded else None
        return view_of(self._last, memory) if self._last else TurnView(memory=memory)

    def _say_rejections(self, path: Path | None) -> None:
        """Says what the target rejected in the last answer, or in those of a file."""
        try:
            traces = read_trace(path) if path else [self._last] if self._last else []
        except TraceError as error:
            self._paper.say(str(error))
            return
        for trace in traces:
            for line in spoken_rejections(trace):
                self._paper.say(line)
        if not traces:
            self._paper.say("There is no answer yet.")

    def _regenerate(self) -> None:
        last = self._last_answer()
        if last is not None:
            self._session.conversation.rewind_to(last.parent)
            self._answer()

    def _edit_answer(self, text: str | None) -> None:
        """Lets the model go on from another text of the last answer; without one, from what the editor leaves."""
        last = self._last_answer()
        if last is None:
            return
        try:
            text = text or asyncio.run(edited(last.content, editor_command()))
        except EditorError as error:
            self._paper.say(str(error))
            return
        self._session.conversation.rewind_to(last.parent)
        self._answer(text)

    def _last_answer(self) -> StoredMessage | None:
        answer = self._session.conversation.last("assistant")
        if answer is None:
            self._paper.say("There is no answer yet.")
        return answer
