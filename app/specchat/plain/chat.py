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
from specchat.chat.session import ChatSession, load_notices
from specchat.chat.turn import RunningTurn
from specchat.engine_process.engine_client import EngineClient
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import (
    NO_TOOLS,
    Ended,
    Loaded,
    Notice,
    Offer,
    Recounted,
    Started,
    Summarised,
    TaskFailed,
)
from specchat.errors import FAILED, INTERRUPTED
from specchat.plain.front_end import PlainFrontEnd
from specchat.plain.paper import Paper, SpokenAnswer, spoken, spoken_figures
from specchat.plain.tools import PlainTools
from specchat.settings.options import ChatOptions
from specchat.settings.paths import sessions_db, worker_log
from specchat.stats.line import ending, limit_words, reading_words, repeating_words
from specchat.terminal.process import stops_on_interrupt
from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import PromptProgress, Round
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
        self._chat = ChatController(ChatSession(options), archive)
        self._client = client
        self._paper = paper

    def run(self, source: TextIO, resume: int | None = None) -> int:
        """Reads messages and commands until there are no more, and returns the exit code."""
        if not self._load():
            return FAILED
        try:
            self._read(source, resume)
        finally:
            self._chat.tools.close()
        return 0

    def _read(self, source: TextIO, resume: int | None) -> None:
        tools = PlainTools(self._chat, self._paper, source)
        front_end = PlainFrontEnd(self._chat, self._paper, partial(self._answer, tools), tools)
        if resume is not None:
            front_end.resume(resume)
        for text in _messages(source, self._paper):
            if text == "@":
                front_end.files.fetch()
                continue
            try:
                command = parse(text, self._chat.sources())
            except Refusal as refusal:
                self._paper.say(str(refusal))
                continue
            if command is None:
                front_end.files.send(message_text(text))
            elif not front_end.perform(command):
                break

    def _load(self) -> bool:
        options = self._chat.session.options
        for event in self._client.load(options.target, options.draft, options.load):
            if isinstance(event, TaskFailed):
                self._paper.say(event.message)
                return False
            if isinstance(event, Loaded):
                self._chat.session.ready(event)
                self._paper.say(f"specchat, {spoken(event.pair_name)}. /help lists commands.")
                for text, _ in load_notices(event, first_time=True):
                    self._paper.say(text)
        return True

    def _answer(self, tools: PlainTools, prefix: str = "") -> Trace | None:
        """Answers the last message, and again after each answer that calls tools. Returns None if no answer began.

        The first answer begins with `prefix`.
        """
        turn = tools.turn()
        trace, calls = self._one_answer(turn.offer if turn else NO_TOOLS, prefix)
        while calls and turn is not None:
            tools.answer(turn, calls)
            trace, calls = self._one_answer(turn.offer)
        return trace

    def _one_answer(self, offer: Offer, prefix: str = "") -> tuple[Trace | None, tuple[ToolCall, ...]]:
        """Writes one answer and says its figures in one line. Returns its trace, if it began, and its calls.

        What was written is stored, whatever ends the answer.
        """
        chat, session, say = self._chat, self._chat.session, self._paper.say
        settings = session.settings or Settings()
        message, question = chat.begin(prefix, tools=offer)
        spoken_answer = SpokenAnswer(self._paper, session.loaded, question.tools)
        turn = RunningTurn(session, message, question, settings, spoken_answer)
        last: Ended | TaskFailed = TaskFailed("the engine gave no answer: try again")
        late: list[str] = []
        saved_at, read_at, repeats = time.monotonic(), 0.0, 0
        self._paper.begin_answer()
        events = self._client.generate(question.request(settings))
        with stops_on_interrupt(self._client.cancel):
            for event in events:
                if isinstance(event, Round):
                    turn.take([event])
                    if turn.repeats and not repeats:
                        self._paper.say_within(f"The answer {repeating_words(turn.repeats)}: Ctrl+C stops it.")
                    repeats = turn.repeats
                    if time.monotonic() - saved_at > _SAVING_PAUSE:
                        saved_at = time.monotonic()
                        chat.archive.grew(message, turn.text)
                elif isinstance(event, Recounted):
                    turn.recount(event.rounds)
                elif isinstance(event, Started):
                    turn.started(event.line)
                elif isinstance(event, Loaded):
                    session.ready(event)
                elif isinstance(event, PromptProgress):
                    if time.monotonic() - read_at > _READING_PAUSE:
                        read_at = time.monotonic()
                        say(f"{reading_words(event)}…")
                elif isinstance(event, Notice):
                    if turn.num_tokens:
                        late.append(event.text)
                    else:
                        say(event.text)
                elif isinstance(event, Summarised):
                    chat.summarise(message.id, event)
                    say(f"From now on the model reads this in place of the oldest turns: {event.text}")
                elif isinstance(event, Ended | TaskFailed):
                    last = event
        outcome = turn.finish(last)
        for text in late:
            say(text)
        if isinstance(last, TaskFailed):
            say(last.message)
            if outcome.gave_up:
                say(_SPECULATION_OFF)
        if outcome.unanswered is not None:
            say("Nothing was answered: the message was withdrawn.")
        trace = turn.trace(last)
        chat.store_ended(message, trace)
        if isinstance(last, TaskFailed):
            return trace, ()
        if trace is not None and (last.stats["num_tokens"] or last.reason == "cancelled"):
            parts = (ending(last.reason), spoken_figures(trace.stats, trace.start), outcome.source)
            say(f"[{', '.join(filter(None, parts))}.]")
        if words := limit_words(last.reason, settings.max_tokens, "/set max-tokens"):
            say(words)
        if words := chat.docs_words(last.text):
            say(f"/help {words} searches the docs.")
        return trace, last.calls


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
