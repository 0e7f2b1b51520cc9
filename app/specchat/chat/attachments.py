"""Files and pages named in a message with `@`. They are read when it is sent.

Their text is appended to the message in full. Documents and pictures are read by a process of their own, which takes a
moment; a page is fetched, which the user has to be asked about.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from specchat.attachments.client import Stopped, page_at, picture_in, picture_in_clipboard, text_in
from specchat.attachments.kinds import is_page, kind_of_name
from specchat.attachments.protocol import LARGEST_FILE, Picture
from specchat.chat.mentions import Mention, mentions
from specchat.errors import AttachmentError, FileTooLarge
from specchat.files import bounded_text
from specchat.store.images import StoredImage, clipboard_file, clipboard_name, keep_image
from specchat.terminal.fences import fenced
from specchat.terminal.filter import clean_line

MOST_BYTES = 256 * 1024
"""The limit for all files of a message together. It exceeds the context of most local models."""

BYTES_A_TOKEN = 4
"""The usual length of a token, from which the size of a text is estimated before a model has read it."""

MOST_IMAGES = 8
"""The limit for the pictures of a message. Each takes hundreds of tokens of the context."""

_MOST_SHOWN = f"the limit is {MOST_IMAGES} a message"
_TRAILING = ".,;:!?)]}'"
_FILE_SUFFIX = re.compile(
    r"\.(c|cc|cfg|conf|cpp|css|csv|docx|gguf|go|h|hpp|html|ini|java|jpe?g|jsx?|jsonl?|kt|log|lua|md|pdf|php|pl|png|pptx|py|rb"
    r"|rs|rst|sh|sql|swift|tex|toml|tsx?|tsv|txt|webp|xlsx|xml|ya?ml|zip)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file's or a page's name as written in the message, and its text, or its picture."""

    name: str
    text: str = ""
    image: StoredImage | None = None

    @property
    def language(self) -> str:
        """The language of the text for a code block, empty for what was converted."""
        return "" if is_page(self.name) or kind_of_name(self.name) else Path(self.name).suffix[1:]

    @property
    def size(self) -> str:
        """About how much of the context the text takes: `a.py: about 1,200 tokens`."""
        tokens = max(len(self.text.encode()) // BYTES_A_TOKEN, 1)
        digits = max(len(str(tokens)) - 2, 0)
        return f"{self.name}: about {round(tokens, -digits):,} token{'' if tokens == 1 else 's'}"


def pages_named(message: str) -> tuple[str, ...]:
    """The addresses of the pages that a message names. Ask the user before `read_attachments` fetches them."""
    return tuple(dict.fromkeys(name for name in map(_bare, mentions(message)) if is_page(name)))


def takes_time(message: str, folder: Path) -> bool:
    """Whether reading what a message names takes more than a moment."""
    names = [*map(_bare, mentions(message))]
    return any(is_page(name) for name in names) or any(
        kind_of_name(name) and (path := _path(name, folder)) and path.is_file() for name in names
    )


def read_attachments(message: str, folder: Path, stopped: Stopped = bool) -> tuple[Attachment, ...]:
    """The files and pages that a message names, each once, in order. Relative names start from `folder`.

    A name that is not a file and does not look like one is part of the message, as in `@property`. Raises
    AttachmentError, naming the file, if a file is missing, cannot be read, or is too large, and once it is `stopped`.
    """
    attachments: dict[Path | str, Attachment] = {}
    left = MOST_BYTES
    for mention in mentions(message):
        page = _bare(mention)
        if is_page(page):
            if page not in attachments:
                attachments[page] = _page(page, left, stopped)
                left -= len(attachments[page].text.encode())
            continue
        named = _file(mention, folder)
        if named is None or named[1] in attachments:
            continue
        name, path = named
        attachments[path] = _attached(clean_line(name), path, left, stopped)
        left -= len(attachments[path].text.encode())
        if sum(each.image is not None for each in attachments.values()) > MOST_IMAGES:
            raise AttachmentError(f"{clean_line(name)} is one picture too many: {_MOST_SHOWN}")
    return tuple(attachments.values())


def text_of_file(path: Path) -> str:
    """The text of one file. Raises AttachmentError if it is missing, has none, cannot be read, or is too large."""
    name = str(path)
    if kind_of_name(name) == "image":
        raise AttachmentError(f"{clean_line(path.name)} is a picture: name a file with text")
    return _attached(clean_line(name), path, MOST_BYTES).text


def image_in_clipboard(stopped: Stopped = bool) -> StoredImage:
    """The picture in the clipboard, kept under a name that a message can mention. Raises AttachmentError."""
    image = _kept("the clipboard", picture_in_clipboard(stopped))
    return replace(image, name=clipboard_name(image.sha256))


def images_in_files(paths: Sequence[Path]) -> tuple[StoredImage, ...]:
    """The pictures in these files, kept in the data folder.

    Raises AttachmentError for a file that is missing or no picture that can be read, and for too many.
    """
    if len(paths) > MOST_IMAGES:
        raise AttachmentError(f"{clean_line(str(paths[MOST_IMAGES]))} is one picture too many: {_MOST_SHOWN}")
    images = []
    for path in paths:
        name = clean_line(str(path))
        is_other = kind_of_name(path.name) != "image" and path.exists()
        if is_other or (image := _attached(name, path, 0).image) is None:
            raise AttachmentError(f"{name} is not a picture: use PNG, JPEG, WebP, GIF, BMP, TIFF or AVIF")
        images.append(image)
    return tuple(images)


def with_attachments(message: str, attachments: Sequence[Attachment]) -> str:
    """The message followed by the text of each file, in a fence that is longer than any in the file."""
    return message + "".join(
        f"\n\n{each.name}:\n\n{fenced(each.text, each.language)}" for each in attachments if each.image is None
    )


def sizes_of(attachments: Sequence[Attachment]) -> tuple[str, ...]:
    """The estimated sizes of the texts among the attachments, each with its name."""
    return tuple(each.size for each in attachments if each.image is None)


def images_of(attachments: Sequence[Attachment]) -> tuple[StoredImage, ...]:
    """The pictures among the attachments."""
    return tuple(each.image for each in attachments if each.image is not None)


def _bare(mention: Mention) -> str:
    """The name without punctuation of the surrounding sentence."""
    return mention.name if mention.quoted else mention.name.rstrip(_TRAILING)


def _attached(name: str, path: Path, left: int, stopped: Stopped = bool) -> Attachment:
    kind = kind_of_name(path.name)
    if kind is None:
        return Attachment(name, _content(name, path, left))
    _check(name, path)
    if path.stat().st_size > LARGEST_FILE:
        raise AttachmentError(f"{name} has {path.stat().st_size >> 20} MiB: the limit is {LARGEST_FILE >> 20} MiB")
    if kind == "image":
        return Attachment(name, image=_kept(name, picture_in(name, str(path), stopped)))
    return Attachment(name, text_in(name, str(path), kind, left, stopped))


def _page(url: str, left: int, stopped: Stopped) -> Attachment:
    content, name = page_at(url, left, stopped), clean_line(url)
    return (
        Attachment(name, image=_kept(name, content)) if isinstance(content, Picture) else Attachment(name, content.text)
    )


def _kept(name: str, picture: Picture) -> StoredImage:
    """A picture, kept where the conversation finds it again."""
    try:
        png, thumbnail = base64.b64decode(picture.png), base64.b64decode(picture.thumbnail)
        return keep_image(png, thumbnail, name, picture.width, picture.height)
    except ValueError:
        raise AttachmentError(f"{name} cannot be read: its reader gave no picture, as for a damaged file") from None
    except OSError as error:
        raise AttachmentError(f"{name} cannot be kept with the conversation: {error.strerror or error}") from None


def _file(mention: Mention, folder: Path) -> tuple[str, Path] | None:
    """The name without punctuation of the surrounding sentence, and the path. None if no file is meant."""
    bare = _bare(mention)
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
    """The file that a name stands for, which need not exist; None if it can be no file."""
    try:
        path = folder / Path(name).expanduser()
        return path if path.exists() else clipboard_file(name) or path
    except (OSError, RuntimeError, ValueError):
        return None


def _looks_like_a_path(name: str, folder: Path) -> bool:
    if "(" in name:
        return False
    if name.startswith(("~/", "./", "../", "/")) or _FILE_SUFFIX.fullmatch(Path(name).suffix):
        return True
    first = _path(name.partition("/")[0], folder)
    return "/" in name and first is not None and first.is_dir()


def _check(name: str, path: Path) -> None:
    """Raises AttachmentError for a path that is not a file."""
    try:
        if path.is_dir():
            raise AttachmentError(f"{name} is a folder: name a file in it")
        if not path.exists():
            raise AttachmentError(f"there is no file {name}: correct its path")
        if not path.is_file():
            raise AttachmentError(f"{name} is not a regular file: it cannot be attached")
    except OSError as error:
        raise AttachmentError(f"{name} cannot be read: {error.strerror or error}; check the path") from None


def _content(name: str, path: Path, left: int) -> str:
    _check(name, path)
    try:
        text = bounded_text(path, left)
    except OSError as error:
        raise AttachmentError(f"{name} cannot be read: {error.strerror or error}; check the path") from None
    except FileTooLarge as error:
        others = "" if left == MOST_BYTES else f", {(MOST_BYTES - left) / 1024:.0f} KiB of which are used"
        limit = f"{MOST_BYTES // 1024} KiB for the files of one message"
        raise AttachmentError(
            f"{name} has {error.size / 1024:,.0f} KiB: the limit is {limit}{others}; attach a part of it"
        ) from None
    except UnicodeDecodeError:
        text = None
    if text is None or "\0" in text:
        raise AttachmentError(f"{name} is not text in UTF-8: text, documents and pictures can be attached")
    return text
