"""Pictures of conversations: files beside the database, each named after what it holds."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from specchat.settings.paths import images_folder

_HASH: Final = re.compile(r"[0-9a-f]{64}")
_FROM_CLIPBOARD: Final = re.compile(r"clipboard-([0-9a-f]{8})\.png")
_THUMBNAIL: Final = re.compile(rb"P6 (\d{1,3}) (\d{1,3}) 255\n")


@dataclass(frozen=True, slots=True)
class StoredImage:
    """A picture of a message: its name as the user wrote it, the SHA-256 of its file, and its size in pixels."""

    name: str
    sha256: str
    width: int = 0
    height: int = 0

    @property
    def path(self) -> Path:
        """Its file, a PNG; it may have been deleted."""
        return images_folder() / f"{self.sha256}.png"

    @property
    def label(self) -> str:
        """Its name and size, as the transcript and the exports show it."""
        return f"{self.name} ({self.width} × {self.height})"

    def thumbnail(self) -> list[list[str]]:
        """The colours of a small version, such as `ff8000`, row by row; empty if there is none."""
        try:
            data = self.path.with_suffix(".ppm").read_bytes()
        except OSError:
            return []
        head = _THUMBNAIL.match(data)
        if head is None:
            return []
        width, height = int(head[1]), int(head[2])
        colours = data[head.end() :].hex()
        row = 6 * width
        if len(colours) != row * height:
            return []
        return [[colours[at : at + 6] for at in range(row * y, row * (y + 1), 6)] for y in range(height)]


def hashes_in(message: Mapping[str, Any]) -> tuple[str, ...]:
    """The hashes of the pictures of a message in a trace, which may come from anyone. Other texts are left out."""
    hashes = message.get("images")
    names = hashes if isinstance(hashes, list | tuple) else ()
    return tuple(name for name in names if isinstance(name, str) and _HASH.fullmatch(name))


def image_files(hashes: Iterable[str]) -> tuple[str, ...]:
    """The files of the pictures with these hashes, which may have been deleted."""
    return tuple(str(StoredImage("", name).path) for name in hashes)


def clipboard_name(sha256: str) -> str:
    """The name by which messages mention a kept picture that came from the clipboard."""
    return f"clipboard-{sha256[:8]}.png"


def clipboard_file(name: str) -> Path | None:
    """The kept picture that this name of `clipboard_name` stands for, while it is kept; None for any other name."""
    named = _FROM_CLIPBOARD.fullmatch(name)
    return next(images_folder().glob(f"{named[1]}*.png"), None) if named else None


def forget_images(used: Collection[str], older_than: float) -> int:
    """Deletes the pictures with none of these hashes that were written more than so many seconds ago; their number."""
    try:
        unused = [path for path in images_folder().iterdir() if path.name.removeprefix(".").split(".")[0] not in used]
    except OSError:
        return 0
    count = 0
    for path in unused:
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > older_than:
                path.unlink()
                count += 1
    return count


def keep_image(png: bytes, thumbnail: bytes, name: str, width: int, height: int) -> StoredImage:
    """Writes a picture to the data folder, unless it is there, with its thumbnail as PPM; only this user can read them.

    Raises OSError.
    """
    image = StoredImage(name, sha256(png).hexdigest(), width, height)
    for path, data in ((image.path.with_suffix(".ppm"), thumbnail), (image.path, png)):
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = path.with_name(f".{path.name}.{os.getpid()}")
            part.touch(0o600)
            part.write_bytes(data)
            part.replace(path)
    return image
