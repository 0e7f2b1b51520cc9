"""`specchat chat --plain`: a prompt, an answer, a line of figures, and again."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import TextIO

from specchat.chat.archive import Archive
from specchat.chat.commands.command import Refusal
from specchat.chat.commands.registry import message_text, parse
from specchat.chat.controller import ChatController
from specchat.chat.guide import docs_words
from specchat.chat.session import ChatSession
from specchat.engine_process.engine_client import EngineClient
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import Ended, Loaded, Notice, Offer, Recounted, Started, Summarised, TaskFailed
from specchat.errors import FAILED, INTERRUPTED
from specchat.plain.front_end import PlainFrontEnd
from specchat.plain.paper import Paper, spoken, spoken_figures
from specchat.plain.tools import PlainTools, spoken_parts
from specchat.settings.options import ChatOptions
from specchat.settings.paths import sessions_db, worker_log
from specchat.stats.line import ending, limit_words, reading_words, repeating_words, with_ending
from specchat.stats.turn import TurnModel
from specchat.store.records import StoredMessage
from specchat.terminal.process import stops_on_interrupt
from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import PromptProgress, Round
from specchat_engine.decoding.trace_lines import end_line
from specchat_engine.prompt.messages import ToolCall
from specchat_engine.settings import Settings

_SAVING_PAUSE = 1.0
"""Seconds between two savings of an answer that is still being written."""

_READING_PAUSE = 10.0
"""Seconds between two lines about a long prompt that is being read."""

_SPECULATION_OFF = "That was the third time in a row: speculation is off now. /spec auto turns it on again."


def chat_plainly(options: ChatOptions, resume: int | None = None, client: EngineClient | None = None) -> int:
    """Chats until the input ends or the user leaves, and returns the exit code. `resume` is a stored session.

    `client` is the engine; without one it is a process on this machine.
    """
    paper = Paper(sys.stdout, sys.stderr, roles=sys.stdin.isatty())
    client = client or LocalClient(worker_log())
    archive = Archive(sessions_db(), lambda problem: paper.say(_about_saving(problem)))
    try:
        return PlainChat(options, client, archive, paper).run(sys.stdin, resume)
    except KeyboardInterrupt:
        paper.end_answer()
        paper.leave()
        return INTERRUPTED
    finally:
        client.close()
        archive.close()


class PlainChat:
    """One conversation at a time. Lines that begin with a slash are commands."""

    def __init__(self, options: ChatOptions, client: EngineClient, archive: Archive, paper: Paper) -> None:
        self._session = ChatSession(options)
        self._client = client
        self._archive = archive
        self._paper = paper

    def run(self, source: TextIO, resume: int | None = None) -> int:
        """Reads messages and commands until there are no more, and returns the exit code."""
        if not self._load():
            return FAILED
        tools = PlainTools(self._paper, source)
        try:
            self._chat(source, tools, resume)
        finally:
            tools.close()
        return 0

    def _chat(self, source: TextIO, tools: PlainTools, resume: int | None) -> None:
        chat = ChatController(self._session, self._archive)
        front_end = PlainFrontEnd(chat, self._paper, partial(self._answer, tools), tools)
        if resume is not None:
            front_end.resume(resume)
        for text in _messages(source, self._paper):
            if text == "@":
                front_end.files.fetch()
                continue
            try:
                command = parse(text, chat.sources())
            except Refusal as refusal:
                self._paper.say(str(refusal))
                continue
            if command is None:
                front_end.files.send(message_text(text))
            elif not front_end.perform(command):
                break

    def _load(self) -> bool:
        options = self._session.options
        for event in self._client.load(options.target, options.draft, options.options):
            if isinstance(event, TaskFailed):
                self._paper.say(event.message)
                return False
            if isinstance(event, Loaded):
                self._session.ready(event)
                self._paper.say(f"specchat, {spoken(event.pair_name)}. /help lists commands.")
                if event.refusal is not None:
                    self._paper.say(f"Not loaded: {event.refusal}")
                if event.shortened_because:
                    self._paper.say(event.shortened_because)
                if event.base_because:
                    self._paper.say(event.base_because)
                if event.exactness:
                    self._paper.say(event.exactness)
                if event.plain_because:
                    self._paper.say(f"Speculation is off: {event.plain_because}")
        return True

    def _answer(self, tools: PlainTools, session: ChatSession, settings: Settings, prefix: str = "") -> Trace | None:
        """Answers the last message, and again after each answer that calls tools. Returns None if no answer began.

        The first answer begins with `prefix`.
        """
        turn = tools.turn()
        trace, calls = self._one_answer(session, settings, turn.offer, prefix)
        while calls:
            for result in tools.answered(session, turn, calls):
                self._archive.said(session.conversation, result)
            trace, calls = self._one_answer(session, settings, turn.offer)
        return trace

    def _one_answer(
        self, session: ChatSession, settings: Settings, offer: Offer, prefix: str = ""
    ) -> tuple[Trace | None, tuple[ToolCall, ...]]:
        """Writes one answer and says its figures in one line. Returns its trace, if it began, and its calls.

        What was written is saved, whatever ends the answer.
        """
        message, question = session.begin(prefix, tools=offer)
        self._archive.said(session.conversation, message)
        model, rounds, started = TurnModel(), list[Round](), dict[str, object]()
        last: Ended | TaskFailed = TaskFailed("the engine gave no answer: try again")
        late: list[str] = []
        saved_at, read_at, repeats = time.monotonic(), 0.0, 0
        asked = self._client.generate(question.request(settings))
        spoken_text = spoken_parts(session.loaded, question.tools)
        self._paper.begin_answer()
        with stops_on_interrupt(self._client.cancel):
            for event in asked:
                if isinstance(event, Round):
                    model.observe([event])
                    rounds.append(event)
                    self._paper.stream(spoken_text.feed(event.text))
                    if model.repeats and not repeats:
                        self._paper.say_within(f"The answer {repeating_words(model.repeats)}: Ctrl+C stops it.")
                    repeats = model.repeats
                    if time.monotonic() - saved_at > _SAVING_PAUSE:
                        saved_at = time.monotonic()
                        self._archive.grew(message, prefix + _text(rounds))
                elif isinstance(event, Recounted):
                    model, rounds = TurnModel(), [*event.rounds]
                    model.observe(rounds)
                elif isinstance(event, Started):
                    started = event.line
                    session.started(event.line)
                    spoken_text = spoken_parts(session.loaded, offer, event.line)
                    self._paper.stream(spoken_text.feed(str(event.line.get("prefix_text", ""))))
                elif isinstance(event, Loaded):
                    session.ready(event)
                elif isinstance(event, PromptProgress):
                    if time.monotonic() - read_at > _READING_PAUSE:
                        read_at = time.monotonic()
                        self._paper.say(f"{reading_words(event)}…")
                elif isinstance(event, Notice):
                    if rounds:
                        late.append(event.text)
                    else:
                        self._paper.say(event.text)
                elif isinstance(event, Summarised):
                    kept = session.conversation.summarise(message.id, event.num_messages, event.text)
                    if kept is not None:
                        self._archive.summarised(kept)
                    self._paper.say(f"From now on the model reads this in place of the oldest turns: {event.text}")
                elif isinstance(event, Ended | TaskFailed):
                    last = event
        self._paper.stream(spoken_text.finish())
        self._paper.end_answer()
        for text in late:
            self._paper.say(text)
        ended = last if isinstance(last, Ended) else None
        view = model.final_view(ended.stats if ended else None)
        text = ended.text if ended and (ended.text or not prefix) else prefix + _text(rounds)
        source = question.quoted_in(text)
        figures = with_ending(ended.reason if ended else "error", view.line(), source)
        unanswered = session.answered(message.id, text, view.figures.num_tokens, ended, figures)
        if isinstance(last, TaskFailed):
            self._paper.say(last.message)
            if session.broke(last.died):
                self._paper.say(_SPECULATION_OFF)
        if unanswered is not None:
            self._paper.say("Nothing was answered: the message was withdrawn.")
        trace = _trace(started, rounds, last) if started else None
        self._save(session, message, trace)
        if trace is not None and ended is not None and (ended.stats["num_tokens"] or ended.reason == "cancelled"):
            figures_spoken = spoken_figures(trace.stats, trace.start)
            self._paper.say(f"[{', '.join(part for part in (ending(ended.reason), figures_spoken, source) if part)}.]")
        if ended and (words := limit_words(ended.reason, settings.max_tokens, "/set max-tokens")):
            self._paper.say(words)
        said = session.conversation.last("user")
        if ended and said and not said.images:
            words = docs_words(said.content, ended.text, session.options.target)
            if words:
                self._paper.say(f"/help {words} searches the docs.")
        return trace, ended.calls if ended else ()

    def _save(self, session: ChatSession, message: StoredMessage, trace: Trace | None) -> None:
        conversation, loaded = session.conversation, session.loaded
        if not conversation.holds(message.id):
            question = message.parent
            gone = [] if question is None or conversation.holds(question) else [question]
            self._archive.unsaid([message.id, *gone])
        elif trace is not None and loaded is not None:
            node = conversation.message(message.id)
            self._archive.answered(node, loaded.pair_name, trace)
        else:
            self._archive.left(conversation.message(message.id))


def _messages(source: TextIO, paper: Paper) -> Iterator[str]:
    """The user's messages, one a line; a backslash at the end of a line continues it."""
    written: list[str] = []
    while True:
        paper.ask(more=bool(written))
        line = source.readline()
        if line.endswith("\n"):
            paper.heard()
        text = line.rstrip("\r\n")
        if line and text.endswith("\\") and not text.endswith("\\\\"):
            written.append(text[:-1])
            continue
        message = "\n".join([*written, text]).strip()
        written = []
        if message:
            yield message
        if not line:
            paper.leave()
            return


def _about_saving(problem: str | None) -> str:
    if problem is None:
        return "Conversations are being saved again."
    return f"The chat continues, but it is not being saved: {problem}"


def _text(rounds: list[Round]) -> str:
    return "".join(event.text for event in rounds)


def _trace(start: dict[str, object], rounds: list[Round], last: Ended | TaskFailed) -> Trace:
    if isinstance(last, TaskFailed):
        return Trace(start, tuple(rounds), None, last.message)
    return Trace(start, tuple(rounds), end_line(last.reason, last.text, last.stats, last.costs))
