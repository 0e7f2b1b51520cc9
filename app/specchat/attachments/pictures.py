"""Pictures as the engine reads them: upright, of a limited size, and as PNG, whatever format the file has."""

from __future__ import annotations

import base64
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from specchat.attachments.documents import UnreadableDocument
from specchat.attachments.protocol import LARGEST_PICTURE, LONGEST_SIDE, Picture

_THUMBNAIL: Final = (32, 24)
"""Pixels of the small version: 12 rows of a terminal, with two pixels in each cell."""

_FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")
"""Nothing else is tried: some of the other readers start programs."""

MOST_PIXELS: Final = 100_000_000
"""A larger picture is not unpacked: it would take gigabytes."""


def picture_of(file: Path | BytesIO) -> Picture:
    """The picture in a file, its first frame. Raises Unreadable, and what Pillow raises for a damaged file."""
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # the limit below says how large it is
    try:
        image = Image.open(file, formats=_FORMATS)
    except UnidentifiedImageError:
        raise UnreadableDocument(f"is damaged, or no picture of a known format: use {', '.join(_FORMATS)}") from None
    with image as opened:
        width, height = opened.size
        if width * height > MOST_PIXELS:
            raise UnreadableDocument(f"has {width:,} × {height:,} pixels: the limit is {MOST_PIXELS:,} in all")
        if opened.format == "JPEG":
            opened.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
        return reduced(opened)


def reduced(opened: Any) -> Picture:
    """An image of Pillow, upright, on white and within the limits, with its small version."""
    from PIL import Image, ImageOps

    plain = _on_white(ImageOps.exif_transpose(opened))
    plain.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    written = BytesIO()
    plain.save(written, "PNG")
    if len(written.getvalue()) > LARGEST_PICTURE:
        plain.thumbnail((LONGEST_SIDE // 2, LONGEST_SIDE // 2), Image.Resampling.LANCZOS)
        written = BytesIO()
        plain.save(written, "PNG")
    size = plain.size
    plain.thumbnail(_THUMBNAIL, Image.Resampling.BOX)
    small = b"P6 %d %d 255\n%s" % (*plain.size, plain.tobytes())
    return Picture(_as_text(written.getvalue()), _as_text(small), *size)


def _as_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _on_white(picture: Any) -> Any:
    """The picture without transparency: models know of none, and what is clear is meant to be paper."""
    from PIL import Image

    if not picture.has_transparency_data:
        return picture.convert("RGB")
    paper = Image.new("RGBA", picture.size, "white")
    return Image.alpha_composite(paper, picture.convert("RGBA")).convert("RGB")
