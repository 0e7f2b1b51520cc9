"""Text files that go with a message: named in it with `@`, read when it is sent, and put in full at its end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from specchat.chat.mentions import Mention, mentions
from specchat.errors import AttachmentError
from specchat.terminal.filter import clean_line

MOST_BYTES = 256 * 1024
"""Of all files of a message together: more than the context of nearly every model that runs at home."""

_TRAILING = ".,;:!?)]}'"
_FILE_SUFFIX = re.compile(
    r"\.(c|cc|cfg|conf|cpp|css|csv|gguf|go|h|hpp|html|ini|java|jpe?g|jsx?|jsonl?|kt|log|lua|md|pdf|php|pl|png|py|rb|rs"
    r"|rst|sh|sql|swift|tex|toml|tsx?|tsv|txt|xml|ya?ml|zip)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file's name as the message has it, and its text."""

    name: str
    text: str


def read_attachments(message: str, folder: Path) -> tuple[Attachment, ...]:
    """The files that a message names, each once, in order; a relative name starts from `folder`.

    A name that is no file and does not look like one is a part of the message, as in `@property`. Raises
    AttachmentError for a file that is missing, no text, or too large, naming it.
    """
    found: dict[Path, Attachment] = {}
    left = MOST_BYTES
    for mention in mentions(message):
        named = _file(mention, folder)
        if named is None or named[1] in found:
            continue
        name, path = named
        content = _read(name, path, left)
        left -= len(content)
        found[path] = Attachment(clean_line(name), _decoded(name, content))
    return tuple(found.values())


def with_attachments(message: str, attachments: Sequence[Attachment]) -> str:
    """The message with each file behind it, in a fence that is longer than any in the file."""
    return message + "".join(f"\n\n{each.name}:\n\n{_fenced(each)}" for each in attachments)


def _file(mention: Mention, folder: Path) -> tuple[str, Path] | None:
    """The name without the punctuation of the sentence around it, and the path. None where no file is meant."""
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


def _read(name: str, path: Path, left: int) -> bytes:
    name = clean_line(name)
    try:
        if path.is_dir():
            raise AttachmentError(f"{name} is a folder: name a file in it")
        if not path.is_file():
            raise AttachmentError(f"{name} is no ordinary file: only text files can be attached")
        with path.open("rb") as file:
            content = file.read(left + 1)
        size = path.stat().st_size
    except OSError as error:
        raise AttachmentError(f"{name} cannot be read: {error.strerror or error}; check the path") from None
    if len(content) > left:
        others = "" if left == MOST_BYTES else f", {(MOST_BYTES - left) / 1024:.0f} KiB of which are taken"
        limit = f"{MOST_BYTES // 1024} KiB for the files of one message"
        raise AttachmentError(f"{name} has {size / 1024:,.0f} KiB: the limit is {limit}{others}; attach a part of it")
    return content


def _decoded(name: str, content: bytes) -> str:
    if b"\0" not in content:
        try:
            return content.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            pass
    raise AttachmentError(f"{clean_line(name)} is no text in UTF-8: only text files can be attached")


def _fenced(attachment: Attachment) -> str:
    longest = max((len(run) for run in re.findall(r"`+", attachment.text)), default=0)
    fence = "`" * max(3, longest + 1)
    kind = Path(attachment.name).suffix[1:]
    return f"{fence}{kind if kind.isalnum() else ''}\n{attachment.text.removesuffix(chr(10))}\n{fence}"
