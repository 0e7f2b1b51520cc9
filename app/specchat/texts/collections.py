"""Collections of texts on disk, each with an index for every tokenizer that it was read by.

A collection is a folder: `collection.json` names its sources and what each index was made from, `KEY.suffixes` is the
index for the tokenizer with this key. An index is written under another name first, so that a reader sees the old one
or the new one; who writes holds a lock.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path

from specchat.errors import LibraryError
from specchat.files import replace_text
from specchat.settings.paths import data_folder
from specchat.texts.chats import own_chats
from specchat_engine.gguf import GgufHeader
from specchat_engine.stores import write_suffixes

CHATS = "chats"
"""The source that stands for the stored conversations, and the usual name of its collection."""

Tokenize = Callable[[str], Sequence[int]]

_NAME = re.compile(r"[\w][\w.-]{0,63}")
_MOST_BYTES = 8 * 2**20
"""Larger files are data rather than texts."""

_SCHEMA = 1
_HITS = "hits"


@dataclass(frozen=True, slots=True)
class Made:
    """An index: how many tokens it has, and the keys of the texts that it was made from."""

    tokens: int
    texts: frozenset[str]


@dataclass(frozen=True, slots=True)
class Collection:
    """Texts under a name. `sources` are files, folders or CHATS; `made` has the indexes by the tokenizer's key."""

    name: str
    folder: Path
    sources: tuple[str, ...]
    is_on: bool = True
    made: Mapping[str, Made] = field(default_factory=dict)

    def index(self, key: str) -> Path | None:
        """The index for a tokenizer; None if there is none yet."""
        path = self.folder / f"{key}.suffixes"
        return path if key in self.made and path.is_file() else None

    @property
    def hits(self) -> int:
        """How many accepted tokens were drafted from it so far."""
        try:
            return int((self.folder / _HITS).read_text("ascii"))
        except (OSError, ValueError):
            return 0

    @property
    def size(self) -> int:
        """The bytes of all indexes."""
        return sum(path.stat().st_size for path in self.folder.glob("*.suffixes"))

    def texts(self) -> dict[str, Callable[[], str]]:
        """What its sources have now: a reader for each text, by a key that changes with the text."""
        readers: dict[str, Callable[[], str]] = {}
        for source in self.sources:
            if source == CHATS:
                for chat in own_chats():
                    text = "\n\n".join(message.content for message in chat)
                    readers[f"{CHATS} {hashlib.blake2b(text.encode(), digest_size=12).hexdigest()}"] = partial(
                        str, text
                    )
                continue
            for path in _files(Path(source)):
                stat = path.stat()
                readers[f"{path} {stat.st_size} {stat.st_mtime_ns}"] = partial(_content, path)
        return readers


class Collections:
    """All collections of the user. Nothing is collected until they add something."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or data_folder() / "texts"

    def all(self) -> list[Collection]:
        """The collections by name; one that cannot be read is left out."""
        folders = sorted(path.parent for path in self.folder.glob("*/collection.json"))
        return [collection for folder in folders if (collection := _read(folder))]

    def get(self, name: str) -> Collection:
        """One of them. Raises LibraryError if there is none of this name."""
        names = [collection.name for collection in self.all()]
        if name not in names:
            known = f"there are {', '.join(names)}" if names else "add one with `specchat store add`"
            raise LibraryError(f"there is no store {name!r}: {known}")
        return next(collection for collection in self.all() if collection.name == name)

    def add(self, name: str, sources: Sequence[str]) -> Collection:
        """Makes a collection, or adds sources to it. Raises LibraryError for a bad name or a source that is missing."""
        if not _NAME.fullmatch(name):
            raise LibraryError(f"{name!r} cannot name a store: use letters, digits, dots and dashes")
        for source in sources:
            if source != CHATS and not Path(source).exists():
                raise LibraryError(f"{source} does not exist: name a text file, a folder, or {CHATS}")
        given = [source if source == CHATS else str(Path(source).resolve()) for source in sources]
        with self._locked(name) as folder:
            old = _read(folder) or Collection(name, folder, ())
            return _write(replace(old, sources=tuple(dict.fromkeys((*old.sources, *given)))))

    def turn(self, name: str, *, on: bool) -> Collection:
        """Lets a collection be used, or not. Raises LibraryError."""
        self.get(name)
        with self._locked(name):
            return _write(replace(self.get(name), is_on=on))

    def remove(self, name: str) -> None:
        """Deletes a collection with its indexes; the texts themselves stay. Raises LibraryError."""
        folder = self.get(name).folder
        with self._locked(name):
            shutil.rmtree(folder)

    def update(
        self, name: str, key: str, tokenize: Tokenize, on_progress: Callable[[int, int], object] = max
    ) -> Collection:
        """Makes the index for a tokenizer anew, unless its texts are as they were.

        `on_progress` gets the number of texts that were read and the number of all texts.

        Raises LibraryError if it cannot be written, TextStoreError for too much text.
        """
        with self._locked(name) as folder:
            collection = self.get(name)
            texts, made = collection.texts(), collection.made.get(key)
            if made and collection.index(key) and texts.keys() == made.texts:
                return collection
            unfinished = folder / f".{key}.unfinished"
            try:
                tokens = write_suffixes(unfinished, _documents(texts, tokenize, on_progress))
                unfinished.replace(folder / f"{key}.suffixes")
            finally:
                unfinished.unlink(missing_ok=True)
            now = Made(tokens, frozenset(texts))
            return _write(replace(collection, made={**collection.made, key: now}))

    def count(self, hits: Mapping[str, int]) -> None:
        """Adds accepted tokens to the collections that they were drafted from. It never waits for a writer."""
        for collection in self.all():
            if hits.get(collection.name):
                with suppress(OSError):  # it was just deleted, or the disk is full
                    replace_text(collection.folder / _HITS, str(collection.hits + hits[collection.name]))

    def summary(self) -> str:
        """All collections in one line."""
        known = self.all()
        if not known:
            return "There is no store yet: `specchat store add FOLDER` makes one."
        described = (
            f"{collection.name} {'on' if collection.is_on else 'off'}, "
            f"{max((made.tokens for made in collection.made.values()), default=0):,} tokens, {collection.hits:,} hits"
            for collection in known
        )
        return f"Stores: {' · '.join(described)}."

    def indexes(self, header: GgufHeader) -> dict[str, Path] | None:
        """The indexes in use that a target of this header can draft from, by name; None if nothing is in use."""
        used = [collection for collection in self.all() if collection.is_on]
        if not used:
            return None
        key = vocabulary_key(header)
        return {collection.name: path for collection in used if (path := collection.index(key))}

    @contextmanager
    def _locked(self, name: str) -> Iterator[Path]:
        """Only one writer at a time. Raises LibraryError if the folder cannot be made."""
        folder = self.folder / name
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / f".{name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                folder.mkdir(exist_ok=True)
                yield folder
        except OSError as error:
            raise LibraryError(f"the store {name} cannot be written: {error.strerror or error}") from None


@lru_cache(maxsize=4)
def vocabulary_key(header: GgufHeader) -> str:
    """What an index belongs to: token ids mean the same for models with the same tokens."""
    digest = hashlib.blake2b(digest_size=12)
    tokens = header.tokens
    for start in range(len(tokens)):
        digest.update(tokens.raw(start) + b"\0")
    digest.update(f"{header.tokenizer} {header.pre_tokenizer}".encode())
    return digest.hexdigest()


def _documents(
    texts: Mapping[str, Callable[[], str]], tokenize: Tokenize, on_progress: Callable[[int, int], object]
) -> Iterator[Sequence[int]]:
    for done, read in enumerate(texts.values(), 1):
        text = read()
        if text:
            yield tokenize(text)
        on_progress(done, len(texts))


def _files(source: Path) -> Iterator[Path]:
    """The files of a source, without hidden ones and very large ones."""
    if source.is_file():
        yield source
        return
    for path in sorted(source.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(source).parts)
        if not hidden and path.is_file() and path.stat().st_size <= _MOST_BYTES:
            yield path


def _content(path: Path) -> str:
    """The text of a file; empty for one that is none."""
    try:
        content = path.read_bytes()
        return "" if b"\0" in content else content.decode()
    except (OSError, UnicodeDecodeError):
        return ""


def _read(folder: Path) -> Collection | None:
    try:
        stored = json.loads((folder / "collection.json").read_text("utf-8"))
        if stored["schema"] != _SCHEMA:
            return None
        made = {key: Made(int(index["tokens"]), frozenset(index["texts"])) for key, index in stored["made"].items()}
        return Collection(folder.name, folder, tuple(map(str, stored["sources"])), bool(stored["on"]), made)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _write(collection: Collection) -> Collection:
    stored = {
        "schema": _SCHEMA,
        "sources": collection.sources,
        "on": collection.is_on,
        "made": {key: {"tokens": index.tokens, "texts": sorted(index.texts)} for key, index in collection.made.items()},
    }
    replace_text(collection.folder / "collection.json", json.dumps(stored, indent=1))
    return collection
