"""The picture in the clipboard, read by a real process through xclip, wl-paste, or a program in their place."""

from __future__ import annotations

import base64
import subprocess
from io import BytesIO
from pathlib import Path

import pytest

from specchat.attachments.client import picture_in_clipboard
from specchat.attachments.protocol import Picture
from specchat.errors import AttachmentError
from support.clipboards import HAS_X, NO_IMAGE, FakeDesktop, copy_picture, x_server
from support.documents import write_picture

pytest.importorskip("PIL", reason="needs the extra specchat[files]")

HANGS = 'echo $$ > "${0%/*}/pid"; exec sleep 1000'
"""A program that notes its number, and gives nothing."""


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDesktop:
    monkeypatch.setattr("specchat.attachments.client.CLIPBOARD", 600.0)
    return FakeDesktop(tmp_path / "programs", monkeypatch)


def complaint(patience: float = 600.0) -> str:
    with pytest.raises(AttachmentError) as caught:
        picture_in_clipboard(patience=patience)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def has_ended(number: Path) -> bool:
    """Whether the program that wrote its number into this file has ended."""
    command = ("/bin/kill", "-0", number.read_text().strip())
    return subprocess.run(command, check=False, capture_output=True).returncode != 0


def colour_of(picture: Picture) -> object:
    from PIL import Image

    with Image.open(BytesIO(base64.b64decode(picture.png))) as found:
        assert (found.format, found.size) == ("PNG", (picture.width, picture.height))
        return found.getpixel((0, 0))


def test_the_picture_on_an_x11_desktop(desktop: FakeDesktop, tmp_path: Path) -> None:
    desktop.copied(write_picture(tmp_path / "a.png", (4096, 1024), "blue"))
    found = picture_in_clipboard(patience=600.0)
    assert (found.width, found.height, colour_of(found)) == (2048, 512, (0, 0, 255))
    assert (desktop.folder / "how").read_text().strip() == "-selection clipboard -t image/png -o"


def test_the_picture_on_a_wayland_desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desktop = FakeDesktop(tmp_path / "programs", monkeypatch, "WAYLAND_DISPLAY")
    desktop.copied(write_picture(tmp_path / "a.bmp", (6, 4), "lime"), "wl-paste")
    assert colour_of(picture_in_clipboard(patience=600.0)) == (0, 255, 0)


def test_a_picture_with_too_many_pixels_is_not_unpacked(desktop: FakeDesktop, tmp_path: Path) -> None:
    desktop.copied(write_picture(tmp_path / "a.png", (20_000, 5_001), mode="1"))
    assert complaint() == "the clipboard has an image that is too large: the limit is 100,000,000 pixels"


def test_a_clipboard_without_an_image(desktop: FakeDesktop) -> None:
    desktop.program("xclip", NO_IMAGE)
    assert complaint() == "the clipboard has no image"


@pytest.mark.parametrize(("display", "package"), [("DISPLAY", "xclip"), ("WAYLAND_DISPLAY", "wl-clipboard")])
def test_a_missing_program_is_named_by_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, display: str, package: str
) -> None:
    FakeDesktop(tmp_path / "programs", monkeypatch, display)
    assert complaint() == f"the clipboard cannot be read: install the package {package}"


def test_without_a_desktop_there_is_no_clipboard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert complaint().startswith("the clipboard cannot be reached: there is no desktop here, as over SSH;")


def test_a_program_that_fails_is_quoted_in_one_line(desktop: FakeDesktop) -> None:
    desktop.program("xclip", 'printf "Error: Can\'t open\ndisplay: :97\n" >&2; exit 1')
    assert complaint().startswith("the clipboard cannot be read: xclip error: Error: Can't open")


@pytest.mark.parametrize("content", ["", "no picture"])
def test_what_is_no_picture_is_one_line(desktop: FakeDesktop, content: str) -> None:
    desktop.program("xclip", f"printf '{content}'")
    assert complaint() == "the clipboard has an image in a format that cannot be read"


def test_a_program_that_hangs_is_ended(desktop: FakeDesktop) -> None:
    desktop.program("xclip", HANGS)
    assert complaint(3.0) == "the clipboard gave nothing within 3 seconds"
    assert has_ended(desktop.folder / "pid")


def test_a_program_is_ended_when_nobody_waits_for_it_any_more(desktop: FakeDesktop) -> None:
    desktop.program("xclip", HANGS)
    number = desktop.folder / "pid"
    with pytest.raises(AttachmentError, match="the clipboard was not read: it was stopped"):
        picture_in_clipboard(lambda: number.exists() and number.read_text() != "", 600.0)
    assert has_ended(number)


@pytest.mark.skipif(not HAS_X, reason="needs Xvfb and xclip")
def test_a_real_clipboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with x_server() as environment:
        monkeypatch.setenv("DISPLAY", environment["DISPLAY"])
        assert complaint() == "the clipboard has no image"
        copy_picture(write_picture(tmp_path / "a.png", (300, 200), "red"), environment)
        found = picture_in_clipboard(patience=600.0)
        assert (found.width, found.height, colour_of(found)) == (300, 200, (255, 0, 0))
