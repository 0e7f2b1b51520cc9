"""`specchat chat --plain`: a prompt, an answer, a line of figures, and again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from specchat.chat.archive import Archive
from specchat.chat.attachments import read_attachments, with_attachments
from specchat.chat.client import EngineClient
from specchat.chat.commands.invocations import Refusal
from specchat.chat.commands.registry import message_text, parse
from specchat.chat.session import ChatSession
from specchat.errors import FAILED, INTERRUPTED, AttachmentError
from specchat.models.formatting import pair_name
from specchat.plain.answering import Answering
from specchat.plain.commands import Commands
from specchat.plain.paper import Paper
from specchat.plain.sessions import StoredSessions
from specchat.plain.words import spoken
from specchat.settings.options import ChatOptions
from specchat.settings.paths import sessions_db, worker_log
from specchat.worker.client import WorkerClient
from specchat.worker.protocol import Loaded, WorkerFailed


def chat_plainly(options: ChatOptions, resume: int | None = None) -> int:
    """Chats until the input ends or the user leaves, and returns the exit code."""
    paper = Paper(sys.stdout, sys.stderr, roles=sys.stdin.isatty())
    client = WorkerClient(worker_log())
    archive = Archive(sessions_db(), lambda trouble: paper.say(_about_saving(trouble)))
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
        stored = StoredSessions(self._archive, self._paper)
        if resume is not None:
            self._session = stored.opened(self._session, resume)
        answering = Answering(self._client, self._archive, self._paper)
        commands = Commands(self._session, self._archive, self._paper, answering, stored)
        for text in _messages(source, self._paper):
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
                self._paper.say(f"specchat, {spoken(pair_name(event.target, event.draft))}. /help lists commands.")
                if event.refusal is not None:
                    self._paper.say(f"The draft model was refused: {event.refusal}")
                if event.plain_because:
                    self._paper.say(f"Speculation is refused: {event.plain_because}")
        return True

    def _with_files(self, text: str) -> str | None:
        """The message with the files that it names; None where one of them cannot be read."""
        try:
            return with_attachments(text, read_attachments(text, Path.cwd()))
        except AttachmentError as error:
            self._paper.say(str(error))
            return None


def _messages(source: TextIO, paper: Paper) -> Iterator[str]:
    """What the user writes, one message a line; a backslash at the end of a line continues it."""
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


def _about_saving(trouble: str | None) -> str:
    if trouble is None:
        return "Conversations are being saved again."
    return f"The chat goes on, but it is not being saved: {trouble}"
