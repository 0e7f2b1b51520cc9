"""Pictures of conversations: files beside the database, each named after what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from specchat.settings.paths import images_folder


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


def keep_image(png: bytes, name: str, width: int, height: int) -> StoredImage:
    """Writes a picture to the data folder, unless it is there. Raises OSError."""
    image = StoredImage(name, sha256(png).hexdigest(), width, height)
    if not image.path.exists():
        image.path.parent.mkdir(parents=True, exist_ok=True)
        part = image.path.with_suffix(".part")
        part.write_bytes(png)
        part.replace(image.path)
    return image
