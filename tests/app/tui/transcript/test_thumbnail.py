"""An image below a message: its name, and two pixels in each cell."""

from __future__ import annotations

from specchat.store.images import StoredImage, keep_image
from specchat.tui.transcript.entries import UserMessage
from specchat.tui.transcript.thumbnail import thumbnail_pieces

PPM = b"P6 2 2 255\n" + bytes.fromhex("ff0000 00ff00 0000ff ffffff".replace(" ", ""))


def test_each_cell_has_the_colours_of_two_pixels() -> None:
    pieces = list(thumbnail_pieces(keep_image(b"png", PPM, "a.png", 40, 30)))
    assert "".join(piece.text for piece in pieces) == "\n▣ a.png (40 × 30)\n▀▀"
    assert [piece.ink for piece in pieces[-2:]] == ["#ff0000 on #0000ff", "#00ff00 on #ffffff"]


def test_without_a_thumbnail_the_name_stands_alone_and_is_filtered() -> None:
    entry = UserMessage("Look", images=[StoredImage("a\x1b[31m.png", "0" * 64, 4, 3)])
    entry.lay(40)
    assert entry.text.startswith("Look\n▣ a")
    assert "\x1b" not in entry.text
    assert entry.raw == "Look"
