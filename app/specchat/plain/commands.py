"""The slash commands that make sense line by line, each answered in lines."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path

from specchat.chat.archive import Archive
from specchat.chat.commands import invocations as asked
from specchat.chat.commands.reading import Sources
from specchat.chat.commands.registry import BY_NAME, COMMANDS
from specchat.chat.exporting import export_conversation
from specchat.chat.presetting import OfPresets, do_preset
from specchat.chat.session import ChatSession, new_conversation
from specchat.errors import SpecchatError
from specchat.plain.answering import Answering
from specchat.plain.paper import Paper
from specchat.plain.sessions import StoredSessions
from specchat.plain.words import refusals_told, spoken
from specchat.settings.presets import preset_names
from specchat.stats.explain import Shown, explanations
from specchat.stats.summary import Summary
from specchat.traces.reading import read_trace
from specchat.traces.trace import Trace
from specchat_engine.errors import SettingError
from specchat_engine.settings import USUAL_K, Settings

_HERE = frozenset(("help", "new", "sessions", "k", "spec", "temp", "set", "preset", "system", "stats", "replay")) | {
    "export",
    "regen",
    "quit",
}
_TOLD_HERE = {
    "help": "The commands, or what one of them does.",
    "sessions": "The latest sessions, or those with these words; a number that was listed goes on with that one.",
    "stats": "A sentence for each figure of the last answer.",
    "replay": "What the target refused of the last answer's draft, round by round, or of a trace's.",
}
"""What commands do here in another way than on the screen."""


class Commands:
    """Does what a line asks for, to the conversation that it was given or to one that it begins."""

    def __init__(
        self, session: ChatSession, archive: Archive, paper: Paper, answering: Answering, stored: StoredSessions
    ) -> None:
        self._session = session
        self._archive = archive
        self._paper = paper
        self._answering = answering
        self._stored = stored
        self._last: Trace | None = None

    def sources(self) -> Sources:
        """What commands can name."""
        loaded = self._session.loaded
        drafters = loaded.drafters if loaded else Sources().drafters
        return Sources(drafters, self._session.k_max, presets=preset_names)

    def ask(self, text: str) -> None:
        """Answers a message."""
        self._archive.said(self._session.conversation, self._session.ask(text))
        self._answer()

    def perform(self, invocation: asked.Invocation) -> bool:
        """Does what a command asks for; False where it is the end."""
        session, say = self._session, self._paper.say
        match invocation:
            case asked.Quit():
                return False
            case asked.ShowHelp(command):
                self._help(command)
            case asked.NewSession(title):
                conversation = new_conversation(session.options)
                if title:
                    conversation.change(title=title)
                self._session, self._last = session.renewed(conversation), None
                say("A new session.")
            case asked.ShowSessions(words):
                self._show_sessions(words)
            case asked.Change() | asked.Speculate():
                self._turn(invocation)
            case asked.ApplyPreset() | asked.SavePreset() | asked.ForgetPreset():
                self._preset(invocation)
            case asked.SetSystem(text):
                self._archive.changed(session.conversation.change(system=text))
                say("The system prompt holds from the next message on." if text else "No system prompt any more.")
            case asked.ShowSystem():
                say(session.conversation.session.system or "There is no system prompt.")
            case asked.SetSeed(seed):
                chosen = new_conversation(session.options).session.seed if seed is None else seed
                self._archive.changed(session.conversation.change(seed=chosen))
                say(f"Seed {chosen} from the next answer on.")
            case asked.ShowStatistics():
                self._show_statistics()
            case asked.Replay(path):
                self._tell_refusals(path)
            case asked.Export(kind, path):
                try:
                    written = export_conversation(self._archive, session.conversation, session.loaded, kind, path)
                    say(f"Exported to {asyncio.run(written)}.")
                except (SpecchatError, OSError) as error:
                    say(f"nothing was exported: {error}")
            case asked.Regenerate():
                self._regenerate()
            case _:
                say("this command needs the screen: start specchat without --plain")
        return True

    def _answer(self) -> None:
        if self._session.settings is not None:
            self._last = self._answering.answer(self._session, self._session.settings)

    def _help(self, name: str | None) -> None:
        for command in COMMANDS:
            if command.name == name or (name not in BY_NAME and command.name in _HERE):
                told = _TOLD_HERE.get(command.name, command.help)
                self._paper.say(f"/{command.name} {command.arguments}".strip() + f": {told}")
        if name not in BY_NAME:
            self._paper.say("Ctrl+C stops an answer. A backslash at the end of a line continues the message.")

    def _show_sessions(self, words: str) -> None:
        chosen = self._stored.listed(words)
        if chosen is None:
            self._stored.show(words)
        else:
            self._session, self._last = self._stored.opened(self._session, chosen), None

    def _turn(self, invocation: asked.Change | asked.Speculate) -> None:
        settings = self._session.settings
        if settings is None:
            return
        try:
            if isinstance(invocation, asked.Speculate):
                self._take(invocation.applied(settings, USUAL_K))
            else:
                self._take(invocation.applied(settings))
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
        for line in done.words.splitlines():
            self._paper.say(line)
        if done.settings is not None:
            self._take(done.settings)

    def _take(self, settings: Settings) -> None:
        session = self._session
        session.settings = settings
        session.conversation.change(settings=asdict(settings))
        self._archive.turned(session.conversation.session, settings)
        sampling = settings.sampling
        self._paper.say(f"k {settings.k}, drafter {settings.drafter}, temperature {sampling.temperature:g}.")

    def _show_statistics(self) -> None:
        """A sentence for each figure of the last answer."""
        trace = self._last
        if trace is None or not trace.rounds:
            self._paper.say("No answer was given yet.")
            return
        last, memory = trace.rounds[-1], self._session.loaded.memory if self._session.loaded else None
        shown = Shown(Summary.of_turn(trace.rounds, trace.stats), last.k, last.reason, None, memory)
        for figure, sentence in explanations(shown).items():
            self._paper.say(spoken(f"{figure.value}: {sentence}"))

    def _tell_refusals(self, path: Path | None) -> None:
        """What was thrown away of the last answer, or of those in a file: only who asks has to hear it."""
        try:
            traces = read_trace(path) if path else [self._last] if self._last else []
        except (SpecchatError, OSError) as error:
            self._paper.say(str(error))
            return
        for trace in traces:
            for line in refusals_told(trace):
                self._paper.say(line)
        if not traces:
            self._paper.say("No answer was given yet.")

    def _regenerate(self) -> None:
        conversation = self._session.conversation
        answers = [message for message in conversation.path() if message.role == "assistant"]
        if not answers:
            self._paper.say("there is no answer yet")
            return
        conversation.rewind_to(answers[-1].parent)
        self._answer()
