"""The stored conversations as the chat uses them. Writes happen in the background, so that the chat never waits."""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from specchat.chat.conversation import Conversation
from specchat.engine_process.protocol import Loaded
from specchat.errors import ConfigError, SpecchatError
from specchat.models.labels import model_name
from specchat.settings.paths import expanded
from specchat.stats.summary import Summary
from specchat.store.images import forget_images
from specchat.store.keeper import Keeper
from specchat.store.records import State, StoredMessage, StoredSession
from specchat.store.store import Store
from specchat.terminal.filter import clean_line
from specchat.traces.trace import Trace, read_trace
from specchat_engine.codec import to_json
from specchat_engine.decoding.rounds import Round
from specchat_engine.settings import Settings

T = TypeVar("T")

_MOMENT = 2.0
_DAY = 24 * 3600
_KEPT_SECONDS = 30 * _DAY
"""How long a deleted session can be restored."""

_TRACES_AT_HAND = 32
"""The most traces kept in memory; others are read again."""


class Archive:
    """Stores conversations and their traces, and loads them again. Empty conversations are not stored."""

    def __init__(self, path: Path, on_trouble: Callable[[str | None], None]) -> None:
        """`on_trouble` is called in another thread with the reason if nothing can be saved, and later with None."""
        self._path = path
        self._on_trouble = on_trouble
        self._known: set[int] = set()
        self._tags: Mapping[str, int] = {}
        self._tags_coming: Future[None] | None = None
        self._traces: OrderedDict[int, Trace] = OrderedDict()

    @property
    def trouble(self) -> str | None:
        """Why nothing can be saved at present, or None."""
        return self._keeper.trouble

    @cached_property
    def _keeper(self) -> Keeper:
        """The thread that writes, started when there is something to do."""
        return Keeper(self._path, self._on_trouble)

    def said(self, conversation: Conversation, message: StoredMessage) -> None:
        """Stores a message that was added to a conversation, and the conversation with its first message."""
        session = conversation.session
        if session.id not in self._known:
            self._known.add(session.id)
            self._keeper.do(lambda store: store.create(session))
        self._keeper.do(lambda store: store.add_message(message))

    def grew(self, message: StoredMessage, text: str) -> None:
        """Stores an unfinished answer, so that a crash loses little of it."""
        self._keeper.do(
            lambda store: store.update_message(message.id, content=text, state=State.STREAMING),
            instead_of=("grew", message.id),
        )

    def answered(self, message: StoredMessage, pair: str, trace: Trace) -> None:
        """Stores a finished answer with its statistics and its trace."""
        self._remember(message.id, trace)

        def keep(store: Store) -> None:
            store.update_message(
                message.id,
                content=message.content,
                state=message.state,
                figures=message.figures,
                tools=message.tools,
            )
            store.keep_stats(message.id, pair, _stats(trace))

        def keep_trace(store: Store) -> None:
            store.keep_trace(message.id, [json.dumps(line, ensure_ascii=False) for line in trace.lines()])

        self._keeper.do(keep)
        self._keeper.do(keep_trace, spare=True)

    def left(self, message: StoredMessage) -> None:
        """Stores an answer that was abandoned: only its text."""
        self._keeper.do(
            lambda store: store.update_message(
                message.id, content=message.content, state=message.state, figures=message.figures
            )
        )

    def summarised(self, message: StoredMessage) -> None:
        """Stores the summary up to a message."""
        self._keeper.do(lambda store: store.update_message(message.id, summary=message.summary))

    def unsaid(self, messages: Sequence[int]) -> None:
        """Removes messages, the last one first."""
        for message in messages:
            self._keeper.do(lambda store, message=message: store.remove_message(message))  # type: ignore[misc]

    def changed(self, session: StoredSession) -> None:
        """Stores a changed title, system prompt, seed, branch or pair."""
        if session.id in self._known:
            self._keeper.do(lambda store: store.change(session), instead_of=("changed", session.id))

    def tagged(self, session: StoredSession) -> None:
        """Stores the tags of a session."""
        if session.id in self._known:
            self._keeper.do(lambda store: store.set_tags(session.id, session.tags), instead_of=("tagged", session.id))

    def turned(self, session: StoredSession, settings: Settings) -> None:
        """Stores the settings with which a session continues."""
        if session.id in self._known:
            values = asdict(settings)
            self._keeper.do(lambda store: store.set_settings(session.id, values), instead_of=("turned", session.id))

    def tidy(self) -> None:
        """Erases sessions that were deleted long ago, and images that no message shows any more."""

        def erase(store: Store) -> None:
            store.purge(_KEPT_SECONDS)
            forget_images(store.images_in_use(), _DAY)

        self._keeper.do(erase, spare=True)

    async def open(self, session: int) -> Conversation | None:
        """A stored conversation, read after all waiting writes; None if there is none."""

        def load(store: Store) -> Conversation | None:
            stored = store.session(session)
            return Conversation(stored, store.messages(session)) if stored else None

        conversation = await self.do(load)
        if conversation is not None:
            self._known.add(session)
        return conversation

    def tags(self) -> Sequence[tuple[str, str]]:
        """All tags as they were read last, with their numbers of sessions in words. They are read again meanwhile."""
        if self._tags_coming is None or self._tags_coming.done():
            self._tags_coming = self._keeper.do(self._read_tags)
        return [(tag, "1 session" if count == 1 else f"{count} sessions") for tag, count in self._tags.items()]

    def _read_tags(self, store: Store) -> None:
        self._tags = store.tags()

    async def trace(self, message: int) -> Trace | None:
        """The trace of an answer; None if it was not stored. Raises SpecchatError if it is damaged."""
        if message not in self._traces:
            lines = await self.do(lambda store: store.trace(message))
            if not lines:
                return None
            self._remember(message, _last_trace(lines))
        return self._traces[message]

    def rounds(self, message: int) -> Sequence[Round]:
        """The rounds of an answer, without waiting for long; empty if they were not stored or cannot be read now."""
        if message not in self._traces and self.trouble is None:
            reading = self._keeper.do(lambda store: store.trace(message))
            try:
                lines = reading.result(_MOMENT)
                if lines:
                    self._remember(message, _last_trace(lines))
            except (SpecchatError, TimeoutError, CancelledError):
                reading.cancel()
        return self._traces[message].rounds if message in self._traces else ()

    async def do(self, work: Callable[[Store], T]) -> T:
        """Runs work on the store after all waiting writes, and returns its result.

        Raises SpecchatError if it fails or if the store cannot be used now. It is not retried later.
        """
        return await self._result(self._keeper.do(work))

    async def read(self, work: Callable[[Store], T]) -> T:
        """Runs reading work at once. It sees only what is already written."""
        return await self._result(self._keeper.read(work))

    async def export(
        self,
        conversation: Conversation,
        loaded: Loaded | None,
        kind: str,
        path: Path | None,
        *,
        overwrite: bool = False,
    ) -> Path:
        """Writes the visible branch to a file, with the traces that were stored, and returns the file's path.

        Without a path, the file is named after the session's title in the current folder. Raises ExportExists if the
        file exists and `overwrite` is False, and SpecchatError if there is nothing to write or it cannot be written.
        """
        # Importing them takes 0.08 s, and few chats need them.
        from specchat.traces.exports import export_session
        from specchat.traces.exports.document import SaidMessage, with_calls, with_images

        branch = conversation.path()
        answerer = model_name(loaded.target) if loaded else "answer"
        traces = [trace for message in branch if (trace := await self.sound_trace(message)) is not None]
        messages: list[SaidMessage] = []
        for message in branch:
            role, content = with_calls(message.to_message())
            named = with_images(content, (image.label for image in message.images))
            messages.append((role, named, message.figures or ""))
        target = expanded(path) if path is not None else _free_path(Path.cwd(), conversation.session.title, kind)
        title = conversation.session.title or f"A chat with {answerer}"
        export_session(kind, title, messages, traces, target, overwrite=overwrite)
        return target

    def close(self) -> bool:
        """Finishes all writes. Returns False if something could not be written."""
        return self._keeper.close()

    async def sound_trace(self, message: StoredMessage | None) -> Trace | None:
        """The trace of an answer; None if there is none, no answer, or a damaged one."""
        if message is None or message.role != "assistant":
            return None
        try:
            return await self.trace(message.id)
        except SpecchatError:
            return None

    async def _result(self, future: Future[T]) -> T:
        """Waits for a result while there is no trouble. Cancels the work if the waiting task is cancelled."""
        coming = asyncio.wrap_future(future)
        try:
            while not (await asyncio.wait({coming}, timeout=_MOMENT))[0]:
                if (trouble := self.trouble) is not None:
                    raise SpecchatError(trouble)
        finally:
            future.cancel()
        if coming.cancelled():
            raise SpecchatError("the store was closed: start specchat again")
        return coming.result()

    def _remember(self, message: int, trace: Trace) -> None:
        self._traces[message] = trace
        self._traces.move_to_end(message)
        while len(self._traces) > _TRACES_AT_HAND:
            self._traces.popitem(last=False)


def _last_trace(lines: Sequence[str]) -> Trace:
    return read_trace(lines)[-1]


def _stats(trace: Trace) -> dict[str, Any]:
    """The statistics to store: those of the trace, of each kind of content, and the sums for records."""
    summary = Summary.of_turn(trace.rounds, trace.end["stats"] if trace.end else None)
    kinds = {kind: figures.to_stats() for kind, figures in summary.by_kind.items()}
    return dict(trace.stats) | {"kinds": kinds, "summary": to_json(summary)}


_ENDINGS = {"markdown": ".md", "html": ".html", "jsonl": ".jsonl", "svg": ".svg"}
_LONGEST_NAME = 40


def _free_path(folder: Path, title: str, kind: str) -> Path:
    """An unused file name made from the title."""
    plain = unicodedata.normalize("NFKD", clean_line(title)).encode("ascii", "ignore").decode().lower()
    stem = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST_NAME].rstrip("-") or "specchat"
    ending = _ENDINGS[kind]
    path, number = folder / f"{stem}{ending}", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}{ending}"
    return path


LAST = "last"
_COUNTED = 999
"""Larger numbers are ids, which have 63 random bits."""


def session_to_resume(name: str, path: Path) -> int:
    """The id of the session that `--resume` names: `last`, a small number that counts back from the last one as
    `/sessions` in the plain mode does, or an id.

    Raises ConfigError if there is none, and StoreUnavailable if the file cannot be read.
    """
    if not path.exists():
        raise ConfigError("--resume finds no session: none was kept yet; start one without it")
    with Store.open(path) as store:
        if name == LAST:
            newest = store.sessions(1)
            if not newest:
                raise ConfigError("--resume finds no session: none was kept yet; start one without it")
            return newest[0].id
        if not name.isascii() or not name.isdigit():
            raise ConfigError(f"--resume is {name!r}: use last, or a session's number")
        if 0 < int(name) <= _COUNTED:
            latest = store.sessions(int(name))
            if len(latest) < int(name):
                raise ConfigError(f"--resume is {name}: there are only {len(latest)}; use last, or a smaller number")
            return latest[-1].id
        if int(name) >= 2**63 or store.session(int(name)) is None:
            raise ConfigError(f"--resume is {name}: there is no such session; use last, or find it with Ctrl+O")
        return int(name)
