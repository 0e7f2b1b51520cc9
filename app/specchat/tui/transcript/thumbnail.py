"""An image in the transcript: its name and size, and a small picture of half blocks, two pixels in each cell."""

from __future__ import annotations

from collections.abc import Iterator

from specchat.store.images import StoredImage
from specchat.terminal.pieces import Clickable, Piece, shown

SHOW_IMAGE = "show_image"
"""The action of a click on the name; its argument is the image's hash."""

_HALF_BLOCK = "▀"


def thumbnail_pieces(image: StoredImage) -> Iterator[Piece]:
    """What is drawn below a message for one of its images; its name alone if there is no thumbnail."""
    yield Piece("\n", "")
    yield Piece(f"▣ {shown(image.label)}", Clickable("$text-accent", SHOW_IMAGE, image.sha256))
    rows = image.thumbnail()
    for upper, lower in zip(rows[::2], rows[1::2], strict=False):
        yield Piece("\n", "")
        for above, below in zip(upper, lower, strict=True):
            yield Piece(_HALF_BLOCK, f"#{above} on #{below}")
