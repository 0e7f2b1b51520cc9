"""Text files named in a message with `@`. They are read when it is sent, and appended to it in full."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from specchat.errors import AttachmentError
from specchat.terminal.filter import clean_line

MOST_BYTES = 256 * 1024
"""The limit for all files of a message together. It exceeds the context of most local models."""

_TRAILING = ".,;:!?)]}'"
_FILE_SUFFIX = re.compile(
    r"\.(c|cc|cfg|conf|cpp|css|csv|gguf|go|h|hpp|html|ini|java|jpe?g|jsx?|jsonl?|kt|log|lua|md|pdf|php|pl|png|py|rb|rs"
    r"|rst|sh|sql|swift|tex|toml|tsx?|tsv|txt|xml|ya?ml|zip)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file's name as written in the message, and its text."""

    name: str
    text: str


def read_attachments(message: str, folder: Path) -> tuple[Attachment, ...]:
    """The files that a message names, each once, in order. Relative names start from `folder`.

    A name that is not a file and does not look like one is part of the message, as in `@property`. Raises
    AttachmentError, naming the file, if a file is missing, is not text, or is too large.
    """
    found: dict[Path, Attachment] = {}
    left = MOST_BYTES
    for mention in mentions(message):
        named = _file(mention, folder)
        if named is None or named[1] in found:
            continue
        name, path = named
        content = _content(name, path, left)
        left -= len(content)
        found[path] = Attachment(clean_line(name), _decoded(name, content))
    return tuple(found.values())


def read_attachment(path: Path) -> Attachment:
    """One file. Raises AttachmentError if it is missing, is not text, or is too large."""
    name = str(path)
    return Attachment(clean_line(path.name), _decoded(name, _content(name, path, MOST_BYTES)))


def with_attachments(message: str, attachments: Sequence[Attachment]) -> str:
    """The message followed by each file, in a fence that is longer than any in the file."""
    return message + "".join(
        f"\n\n{each.name}:\n\n{fenced(each.text, Path(each.name).suffix[1:])}" for each in attachments
    )


def _file(mention: Mention, folder: Path) -> tuple[str, Path] | None:
    """The name without punctuation of the surrounding sentence, and the path. None if no file is meant."""
    bare = mention.name if mention.quoted else mention.name.rstrip(_TRAILING)
    for name in dict.fromkeys((mention.name, bare)):
        path = _path(name, folder)
        if path is not None and path.exists():
            return name, path
    if not (mention.quoted or _looks_like_a_path(bare, folder)):
        return None
    name = clean_line(bare)
    raise AttachmentError(
        f"there is no file {name}: correct its path, or write `@{name}` in backticks to say just that"
    )


def _path(name: str, folder: Path) -> Path | None:
    try:
        path = folder / Path(name).expanduser()
        path.exists()
    except (OSError, RuntimeError, ValueError):
        return None
    return path


def _looks_like_a_path(name: str, folder: Path) -> bool:
    if "(" in name:
        return False
    if name.startswith(("~/", "./", "../", "/")) or _FILE_SUFFIX.fullmatch(Path(name).suffix):
        return True
    first = _path(name.partition("/")[0], folder)
    return "/" in name and first is not None and first.is_dir()


def _content(name: str, path: Path, left: int) -> bytes:
    name = clean_line(name)
    try:
        if path.is_dir():
            raise AttachmentError(f"{name} is a folder: name a file in it")
        if not path.exists():
            raise AttachmentError(f"there is no file {name}: correct its path")
        if not path.is_file():
            raise AttachmentError(f"{name} is not a regular file: only text files can be attached")
        with path.open("rb") as file:
            content = file.read(left + 1)
        size = path.stat().st_size
    except OSError as error:
        raise AttachmentError(f"{name} cannot be read: {error.strerror or error}; check the path") from None
    if len(content) > left:
        others = "" if left == MOST_BYTES else f", {(MOST_BYTES - left) / 1024:.0f} KiB of which are used"
        limit = f"{MOST_BYTES // 1024} KiB for the files of one message"
        raise AttachmentError(f"{name} has {size / 1024:,.0f} KiB: the limit is {limit}{others}; attach a part of it")
    return content


def _decoded(name: str, content: bytes) -> str:
    if b"\0" not in content:
        try:
            return content.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            pass
    raise AttachmentError(f"{clean_line(name)} is not text in UTF-8: only text files can be attached")


def fenced(text: str, kind: str = "") -> str:
    """A text as a code block, in a fence that is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind if kind.isalnum() else ''}\n{text.removesuffix(chr(10))}\n{fence}"


_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]*)("?)|([^\s"]\S*)?)')
_CODE = re.compile(r"(?ms)^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1|\Z)|(`+)[^`\n]+\2")
_LOOK_AT = 50_000
_MOST = 500


@dataclass(frozen=True, slots=True)
class Mention:
    """A file named in a text: the name as written, and its position, including the `@`."""

    name: str
    start: int
    end: int
    quoted: bool = False
    closed: bool = True


def mentions(text: str) -> Iterator[Mention]:
    """All mentions, in order. A lone `@`, and one in Markdown code, is not a mention."""
    code = [match.span() for match in _CODE.finditer(text)]
    for match in _MENTION.finditer(text):
        mention = _mention(match)
        if mention.name and not any(start <= mention.start < end for start, end in code):
            yield mention


def mention_at(text: str, cursor: int) -> Mention | None:
    """The mention at the cursor, which may be only an `@` so far."""
    start = text.rfind("\n", 0, cursor) + 1
    end = text.find("\n", cursor)
    found = _MENTION.finditer(text, start, end if end >= 0 else len(text))
    return next((_mention(match) for match in found if match.start() < cursor <= match.end()), None)


def written(name: str, *, closed: bool = True) -> str:
    """A file's name as a mention or an argument: in quotes if it contains spaces."""
    if not re.search(r"\s", name):
        return name
    return f'"{name}"' if closed else f'"{name}'


def paths_beginning(typed: str, folder: Path) -> list[str]:
    """At most 500 files and folders whose path begins with what was typed. Folders come first and end with a slash.

    Hidden ones are left out unless the dot was typed; `~` is the home folder. Case is ignored. A folder that cannot be
    read counts as empty, and only a part of a very large one is examined.
    """
    if typed == "~":
        return ["~/"]
    place, name = typed[: typed.rfind("/") + 1], typed[typed.rfind("/") + 1 :].casefold()
    try:
        path = folder / Path(place).expanduser()
        entries = _listed(str(path), path.stat().st_mtime_ns)
    except (OSError, RuntimeError, ValueError):
        return []
    found = (each for folded, each in entries if folded.startswith(name) and (name or not folded.startswith(".")))
    return [f"{place}{each}" for each in islice(found, _MOST)]


@lru_cache(maxsize=4)
def _listed(folder: str, changed_ns: int) -> tuple[tuple[str, str], ...]:
    """The names in a folder, each folded and as it is. Read again when the folder has changed."""
    del changed_ns
    with os.scandir(folder) as entries:
        usable = [
            (not entry.is_dir(), entry.name.casefold(), entry.name)
            for entry in islice(entries, _LOOK_AT)
            if entry.name.isprintable() and '"' not in entry.name
        ]
    return tuple((folded, name if is_file else f"{name}/") for is_file, folded, name in sorted(usable))


def _mention(match: re.Match[str]) -> Mention:
    if match[1] is not None:
        return Mention(match[1], match.start(), match.end(), quoted=True, closed=bool(match[2]))
    return Mention(match[3] or "", match.start(), match.end())
