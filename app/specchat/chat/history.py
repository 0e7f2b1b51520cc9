"""The history of sent messages: kept between starts, recalled one by one, and searched.

The file has one JSON object per line, the newest last. Several apps may write at once: each appends a line in one
write, under a lock that it waits for only briefly. If the disk fails, the app continues and keeps the entry in memory
until it ends.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from specchat.settings.paths import data_folder

MOST_ENTRIES = 2_000
MOST_BYTES = 2_000_000
"""The size that is read. The file is shortened to both limits when it exceeds one of them by a quarter."""

LONGEST_KEPT = 64_000
"""The most characters of a stored message with its pasted texts. A longer one is kept only until the app ends."""

_LOCK_SECONDS = 0.1

_log = logging.getLogger(__name__)


class HistoryEntry(NamedTuple):
    """A sent text as typed. `pasted` are the labels in it and the long texts that they stand for."""

    text: str
    pasted: tuple[tuple[str, str], ...] = ()


def history_file() -> Path:
    """The path of the history, which need not exist."""
    return data_folder() / "history.jsonl"


class PromptHistory:
    """The sent texts, oldest first, read on first use. Without a path nothing is stored."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._entries: list[HistoryEntry] | None = None

    @property
    def entries(self) -> Sequence[HistoryEntry]:
        """All entries, at most 2,000 of them from earlier starts."""
        return self._known()

    def add(self, entry: HistoryEntry) -> None:
        """Adds a sent text unless it equals the last one. Never raises an error of the disk."""
        known = self._known()
        if known and known[-1] == entry:
            return
        known.append(entry)
        if len(entry.text) + sum(len(text) for _, text in entry.pasted) <= LONGEST_KEPT:
            self._append(_line(entry))

    def _known(self) -> list[HistoryEntry]:
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def _read(self) -> list[HistoryEntry]:
        if self._path is None:
            return []
        try:
            size = self._path.stat().st_size
            with self._path.open("rb") as file:
                file.seek(max(0, size - MOST_BYTES))
                lines = file.read(MOST_BYTES).split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            _log.warning("the history is not read: %s", error)
            return []
        whole = lines if size <= MOST_BYTES else lines[1:]
        entries = [entry for entry in map(_entry, whole) if entry is not None]
        if size > MOST_BYTES * 5 // 4 or len(entries) > MOST_ENTRIES * 5 // 4:
            self._shorten()
        return entries[-MOST_ENTRIES:]

    def _append(self, line: bytes) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with _locked(self._path):
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
                try:
                    os.fchmod(descriptor, 0o600)
                    size = os.fstat(descriptor).st_size
                    torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
                    line = b"\n" + line if torn else line
                    if os.write(descriptor, line) < len(line):
                        os.ftruncate(descriptor, size)
                        raise OSError("no space for the line")
                finally:
                    os.close(descriptor)
        except OSError as error:
            _log.warning("what was sent is not kept in the history: %s", error)

    def _shorten(self) -> None:
        """Keeps the newest lines. The write of another app waits, or is lost if it does not wait long enough."""
        if self._path is None:
            return
        unfinished = self._path.with_suffix(".unfinished")
        try:
            with _locked(self._path) as alone:
                if not alone:
                    return
                lines = self._path.read_bytes()[-MOST_BYTES:].split(b"\n")[1:]
                newest = [line for line in lines if _entry(line) is not None][-MOST_ENTRIES:]
                descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(b"".join(line + b"\n" for line in newest))
                unfinished.replace(self._path)
        except OSError as error:
            _log.warning("the history stays long: %s", error)


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Locks the history. Gives False if another app holds the lock for more than a tenth of a second.

    The lock is a separate file, since shortening replaces the history.
    """
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + _LOCK_SECONDS
        alone = _try_lock(descriptor)
        while not alone and time.monotonic() < deadline:
            time.sleep(0.005)
            alone = _try_lock(descriptor)
        yield alone
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _line(entry: HistoryEntry) -> bytes:
    values = {"text": entry.text} | ({"pasted": entry.pasted} if entry.pasted else {})
    return json.dumps(values).encode("ascii") + b"\n"


def _entry(line: bytes) -> HistoryEntry | None:
    """The entry in a line; None if the line is damaged."""
    try:
        values = json.loads(line)
        text, pasted = values["text"], tuple((label, content) for label, content in values.get("pasted", ()))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if not all(isinstance(each, str) for each in (text, *(part for pair in pasted for part in pair))):
        return None
    return HistoryEntry(text, pasted)


def as_typed(content: str, entries: Sequence[HistoryEntry]) -> str:
    """A message as the user typed it, with `@` before a file instead of the file, if the history has it."""
    for entry in reversed(entries):
        if "@" in entry.text and content.startswith(f"{entry.text}\n\n"):
            return entry.text
    return content


class HistoryWalk:
    """A walk through the entries. It begins at the draft that the user was writing."""

    def __init__(self, entries: Sequence[HistoryEntry]) -> None:
        self._entries = entries
        self._place: int | None = None
        self._draft = HistoryEntry("")

    def older(self, draft: HistoryEntry) -> HistoryEntry | None:
        """The entry before this one; None if there is none."""
        if self._place is None:
            self._draft = draft
        index = len(self._entries) if self._place is None else self._place
        if index == 0:
            return None
        self._place = index - 1
        return self._entries[self._place]

    def newer(self) -> HistoryEntry | None:
        """The entry after this one, and the draft after the last entry; None if the draft is shown already."""
        if self._place is None:
            return None
        self._place += 1
        if self._place < len(self._entries):
            return self._entries[self._place]
        self._place = None
        return self._draft

    def end(self) -> None:
        """Ends the walk: the next one begins at the newest entry."""
        self._place = None


class HistorySearch(NamedTuple):
    """A search in progress: the query, the matching entries with the newest first, and which of them is shown.

    The case of letters counts only if the query has a capital letter.
    """

    entries: Sequence[HistoryEntry]
    draft: HistoryEntry
    query: str = ""
    matches: tuple[HistoryEntry, ...] = ()
    position: int = 0

    @property
    def shown(self) -> HistoryEntry:
        """The entry that is shown; the draft if nothing matches."""
        return self.matches[self.position] if self.matches else self.draft

    def looking_for(self, query: str) -> HistorySearch:
        """The search with another query, at its newest match. An empty query matches nothing."""
        exact = query != query.lower()
        matches: dict[HistoryEntry, None] = {}
        for entry in reversed(self.entries):
            if query and query in (entry.text if exact else entry.text.lower()):
                matches.setdefault(entry)
        return HistorySearch(self.entries, self.draft, query, tuple(matches))

    def moved(self, steps: int) -> HistorySearch:
        """Moved by `steps` to older matches, or to newer ones if negative."""
        position = min(max(self.position + steps, 0), max(len(self.matches) - 1, 0))
        return HistorySearch(self.entries, self.draft, self.query, self.matches, position)
