"""Pictures of conversations on the disk."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from specchat.settings.paths import images_folder
from specchat.store import Store, StoredMessage, new_id
from specchat.store.images import StoredImage, forget_images, keep_image
from support.stored import begun

PPM = b"P6 2 2 255\n" + bytes.fromhex("ff0000 00ff00 0000ff ffffff".replace(" ", ""))


def test_a_picture_is_kept_once_under_its_hash() -> None:
    image = keep_image(b"png", PPM, "a.png", 40, 30)
    assert keep_image(b"png", PPM, "b.png", 40, 30).path == image.path
    assert image == StoredImage("a.png", sha256(b"png").hexdigest(), 40, 30)
    assert image.path.read_bytes() == b"png"
    assert sorted(path.suffix for path in images_folder().iterdir()) == [".png", ".ppm"]
    assert image.label == "a.png (40 × 30)"
    assert [path.stat().st_mode & 0o077 for path in (image.path, images_folder())] == [0, 0]
    assert image.thumbnail() == [["ff0000", "00ff00"], ["0000ff", "ffffff"]]


@pytest.mark.parametrize("damage", [b"", b"P6 2 2 255\n", b"P5 2 2 255\n" + PPM[11:], PPM + b"x"])
def test_a_damaged_thumbnail_is_none(damage: bytes) -> None:
    image = keep_image(b"png", PPM, "a.png", 2, 2)
    image.path.with_suffix(".ppm").write_bytes(damage)
    assert image.thumbnail() == []
    image.path.with_suffix(".ppm").unlink()
    assert image.thumbnail() == []


def test_images_that_no_message_shows_are_deleted_after_a_day(path: Path) -> None:
    used, unused, young = (keep_image(name, PPM, "a.png", 2, 2) for name in (b"used", b"unused", b"young"))
    with Store.open(path) as store:
        session = begun(store)
        store.add_message(StoredMessage(new_id(), session, None, "user", "Look", images=(used,)))
        store.add_message(StoredMessage(new_id(), session, None, "user", "Hi"))
        assert store.images_in_use() == {used.sha256}
        for image in (used, unused):
            for suffix in (".png", ".ppm"):
                os.utime(image.path.with_suffix(suffix), (0, 0))
        assert forget_images(store.images_in_use(), 3600) == 2
    assert [image.path.exists() for image in (used, unused, young)] == [True, False, True]
