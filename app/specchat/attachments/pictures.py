"""Pictures as the engine reads them: upright, of a limited size, and as PNG, whatever format the file has."""

from __future__ import annotations

import base64
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from specchat.attachments.documents import Unreadable
from specchat.attachments.protocol import LARGEST_PICTURE, LONGEST_SIDE, Picture

_MOST_PIXELS: Final = 100_000_000
"""A larger picture is not unpacked: it would take gigabytes."""


def picture_of(path: Path) -> Picture:
    """The picture in a file, its first frame. Raises Unreadable, and what Pillow raises for a damaged file."""
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # the limit below says how large it is
    with Image.open(path) as opened:
        width, height = opened.size
        if width * height > _MOST_PIXELS:
            raise Unreadable(f"has {width:,} × {height:,} pixels: the limit is {_MOST_PIXELS:,} in all")
        if opened.format == "JPEG":
            opened.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
        upright = ImageOps.exif_transpose(opened)
        plain = _on_white(upright)
    plain.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    written = BytesIO()
    plain.save(written, "PNG")
    if len(written.getvalue()) > LARGEST_PICTURE:
        plain.thumbnail((LONGEST_SIDE // 2, LONGEST_SIDE // 2), Image.Resampling.LANCZOS)
        written = BytesIO()
        plain.save(written, "PNG")
    return Picture(base64.b64encode(written.getvalue()).decode(), *plain.size)


def _on_white(picture: Any) -> Any:
    """The picture without transparency: models know of none, and what is clear is meant to be paper."""
    from PIL import Image

    if not picture.has_transparency_data:
        return picture.convert("RGB")
    paper = Image.new("RGBA", picture.size, "white")
    return Image.alpha_composite(paper, picture.convert("RGBA")).convert("RGB")
