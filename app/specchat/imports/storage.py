"""Stores imported conversations. Their ids are derived from the export, so importing a file again adds nothing twice.

A later export of a conversation that has grown adds its new messages. What the user has done with the session here
stays: its title, other branches, and that it was deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Literal

from specchat.errors import StoreError, UnreadableExport
from specchat.imports.export_files import SkippedChat, read_export
from specchat.imports.records import MOST_SECONDS, ImportedChat
from specchat.store.records import StoredMessage, StoredSession, preview_of
from specchat.store.store import Store
from specchat.store.tags import tag_of


@dataclass(frozen=True, slots=True)
class Imported:
    """Counts of a file's conversations by what was done with them, and the unreadable ones."""

    new: int = 0
    grown: int = 0
    present: int = 0
    deleted: int = 0
    empty: int = 0
    skipped: tuple[SkippedChat, ...] = field(default=())

    @property
    def sentence(self) -> str:
        """The numbers in words."""
        others = {
            "grown": self.grown,
            "already here": self.present,
            "deleted here before": self.deleted,
            "empty": self.empty,
            "unreadable": len(self.skipped),
        }
        return ", ".join([f"{self.new:,} imported", *(f"{count:,} {what}" for what, count in others.items() if count)])

    def __add__(self, other: Imported) -> Imported:
        """Adds up both."""
        return Imported(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


def import_file(
    store: Store,
    path: Path,
    on_progress: Callable[[int], None] = lambda _done: None,
    most_seconds: float = MOST_SECONDS,
) -> Imported:
    """Stores the conversations of a file, each in a transaction of its own. `on_progress` is given how many are done.

    The file is read to its end first: nothing of one that cannot be read, in `most_seconds`, is stored. Raises
    UnreadableExport then.
    """
    deadline = monotonic() + most_seconds
    for _ in read_export(path):
        if monotonic() > deadline:
            raise UnreadableExport(f"{path}: reading it takes more than {most_seconds:g} seconds")
    at = path.stat().st_mtime
    counts = Counter[str]()
    known: dict[int, set[int]] = {}
    skipped: list[SkippedChat] = []
    for done, chat in enumerate(read_export(path), 1):
        if isinstance(chat, SkippedChat):
            skipped.append(chat)
        elif not chat.messages:
            counts["empty"] += 1
        else:
            counts[_add(store, chat, at, known)] += 1
        on_progress(done)
    return Imported(**counts, skipped=tuple(skipped))


def _add(
    store: Store, chat: ImportedChat, at: float, known: dict[int, set[int]]
) -> Literal["new", "grown", "present", "deleted"]:
    """Stores a conversation, or what is new of it. Returns what became of it.

    `known` are the messages of the sessions that were looked at: a file may have one conversation thousands of times.
    """
    session = _session(chat, at)
    is_new = False
    if session.id not in known:
        if store.is_deleted(session.id):
            return "deleted"
        is_new = store.session(session.id) is None
        known[session.id] = {message.id for message in store.messages(session.id)}
    added = [message for message in _messages(chat, session) if message.id not in known[session.id]]
    if not (is_new or added):
        return "present"
    with store.together():
        if is_new:
            store.create(session)
        for message in added:
            store.add_message(message)
    known[session.id].update(message.id for message in added)
    return "new" if is_new else "grown"


def _session(chat: ImportedChat, at: float) -> StoredSession:
    """The session of a conversation. Without times of its own it is as old as the file."""
    first = chat.messages[0]
    created = chat.created or first.created or chat.updated or at
    return StoredSession(
        _id(chat.source, chat.key or first.content),
        chat.title.strip() or preview_of(first.content),
        created,
        max(created, chat.updated or created),
        chat.system,
        tags=(chat.source, *(tag for written in chat.tags for tag in _tag(written))),
    )


def _tag(written: str) -> list[str]:
    """A tag of another program, with its words joined; empty if it cannot be one here."""
    with suppress(StoreError):
        return [tag_of("-".join(written.split()))]
    return []


def _messages(chat: ImportedChat, session: StoredSession) -> list[StoredMessage]:
    """The messages, each with an id that depends on all that was said before it."""
    made: list[StoredMessage] = []
    parent: int | None = None
    created = session.created
    for message in chat.messages:
        created = message.created or created
        own = _id(session.id, parent, message.role, message.content)
        made.append(StoredMessage(own, session.id, parent, message.role, message.content, created))
        parent = own
    return made


def _id(*of: object) -> int:
    """63 bits that depend on the values alone."""
    packed = "\0".join(map(str, of)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(packed, digest_size=8).digest()) >> 1
