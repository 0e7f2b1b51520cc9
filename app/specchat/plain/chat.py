"""`specchat chat --plain`: a prompt, an answer, a line of figures, and again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from specchat.attachments import read_attachments, with_attachments
from specchat.chat.archive import Archive
from specchat.chat.client import EngineClient
from specchat.chat.commands.invocations import Refusal
from specchat.chat.commands.parsing import message_text, parse
from specchat.chat.session import ChatSession
from specchat.chat.stored_settings import settings_from
from specchat.cli.reporting import FAILED, INTERRUPTED
from specchat.errors import AttachmentError
from specchat.naming import pair_name
from specchat.options import ChatOptions
from specchat.paths import sessions_db, worker_log
from specchat.plain.answering import Answering
from specchat.plain.commands import Commands
from specchat.plain.paper import Paper
from specchat.worker.client import WorkerClient
from specchat.worker.protocol import Loaded, WorkerFailed
from specchat_engine.errors import EngineError


def chat_plainly(options: ChatOptions, resume: int | None = None) -> int:
    """Chats until the input ends or the user leaves, and returns the exit code."""
    paper = Paper(sys.stdout, sys.stderr)
    client = WorkerClient(worker_log())
    archive = Archive(sessions_db(), lambda trouble: paper.say(_about_saving(trouble)))
    try:
        return PlainChat(options, client, archive, paper).run(sys.stdin, resume)
    except KeyboardInterrupt:
        paper.end_answer()
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
        if resume is not None:
            self._resume(resume)
        answering = Answering(self._client, self._archive, self._paper)
        commands = Commands(self._session, self._archive, self._paper, answering)
        for text in _messages(source, self._paper if source.isatty() else None):
            asked = parse(text, commands.sources())
            if isinstance(asked, Refusal):
                self._paper.say(asked.reason)
            elif asked is not None:
                if not commands.perform(asked):
                    break
            elif (message := self._with_files(message_text(text))) is not None:
                commands.ask(message)
        return 0

    def _load(self) -> bool:
        options = self._session.options
        for event in self._client.load(options.target, options.draft, options.options):
            if isinstance(event, WorkerFailed):
                self._paper.say(event.message)
                return False
            if isinstance(event, Loaded):
                self._session.ready(event)
                self._paper.say(f"specchat, {pair_name(event.target, event.draft)}. /help lists commands.")
                if event.refusal is not None:
                    self._paper.say(f"The draft model was refused: {event.refusal}")
                if event.plain_because:
                    self._paper.say(f"Speculation is refused: {event.plain_because}")
        return True

    def _resume(self, session: int) -> None:
        conversation = asyncio.run(self._archive.open(session))
        if conversation is None:
            self._paper.say("this session is not there any more: a new one begins")
            return
        self._session = self._session.renewed(conversation)
        loaded, kept = self._session.loaded, conversation.session.settings
        if loaded is not None and kept is not None:
            try:
                self._session.settings = settings_from(kept, loaded.drafters, self._session.k_max)
            except EngineError as error:
                self._paper.say(f"the session's settings cannot be used: {error}")
        said = len(conversation.path())
        self._paper.say(f"Going on with “{conversation.session.title}”: {said} message{'' if said == 1 else 's'}.")

    def _with_files(self, text: str) -> str | None:
        """The message with the files that it names; None where one of them cannot be read."""
        try:
            return with_attachments(text, read_attachments(text, Path.cwd()))
        except AttachmentError as error:
            self._paper.say(str(error))
            return None


def _messages(source: TextIO, prompted: Paper | None) -> Iterator[str]:
    """What the user writes, one message a line; a backslash at the end of a line continues it."""
    written: list[str] = []
    while True:
        if prompted is not None:
            prompted.sign("... " if written else "> ")
        line = source.readline()
        text = line.rstrip("\r\n")
        if line and text.endswith("\\") and not text.endswith("\\\\"):
            written.append(text[:-1])
            continue
        message = "\n".join([*written, text]).strip()
        written = []
        if message:
            yield message
        if not line:
            return


def _about_saving(trouble: str | None) -> str:
    if trouble is None:
        return "Conversations are being saved again."
    return f"The chat goes on, but it is not being saved: {trouble}"
