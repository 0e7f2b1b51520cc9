"""Pasting the image in the clipboard into a message, through a real program in the place of xclip."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.tui.prompting import Prompting, prompting, sources_in
from specchat.settings.paths import images_folder
from specchat.tui.widgets import image_paste
from support.clipboards import NO_IMAGE, FakeDesktop
from support.documents import write_picture

pytest.importorskip("PIL", reason="needs the extra specchat[files]")


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDesktop:
    """A desktop on which a picture was copied."""
    desktop = FakeDesktop(tmp_path / "programs", monkeypatch)
    desktop.copied(write_picture(tmp_path / "a.png", (40, 30)))
    monkeypatch.setattr(image_paste, "_SLOW", 60.0)  # a busy machine starts programs slowly
    return desktop


async def pasted(at: Prompting, *keys: str) -> None:
    """Presses keys and waits until the clipboard was read."""
    await at.hurry(*keys)
    await at.host.workers.wait_for_complete()
    await at.pilot.pause()


def mention() -> str:
    """The mention of the one image that is kept."""
    (file,) = images_folder().glob("*.png")
    return f"@clipboard-{file.stem[:8]}.png"


@pytest.mark.parametrize("key", ["alt+v", "ctrl+v"])
async def test_a_key_mentions_the_image_and_it_goes_with_the_message(
    desktop: FakeDesktop, tmp_path: Path, key: str
) -> None:
    async with prompting(sources_in(tmp_path)) as at:
        await at.press(*"What is")
        await pasted(at, key)
        assert at.text == f"What is {mention()} "
        assert at.host.refusals == [f"with the image {mention()[1:]} (40 × 30)"]
        await pasted(at, "enter")
        (message,) = at.host.submitted
        assert message.text == f"What is {mention()}"
        assert [image.label for image in message.images] == [f"{mention()[1:]} (40 × 30)"]


async def test_what_is_typed_meanwhile_lands_after_the_image(desktop: FakeDesktop, tmp_path: Path) -> None:
    async with prompting(sources_in(tmp_path)) as at:
        await pasted(at, "alt+v", *"ok?")
        assert at.text == f"{mention()} ok?"
        at.prompt.write("")
        await at.paste("")
        await pasted(at, "b", "left", "left")
        assert at.text == f"{mention()} b", "an empty paste stands for an image"
        at.prompt.write("")
        await at.press(*"ab", "left")
        await pasted(at, "alt+v")
        assert at.text == f"a {mention()} b", "in the middle it stands between blanks"


async def test_without_an_image_one_line_says_so_and_the_message_stays(desktop: FakeDesktop, tmp_path: Path) -> None:
    desktop.program("xclip", NO_IMAGE)
    async with prompting(sources_in(tmp_path)) as at:
        await at.press(*"Hi")
        await pasted(at, "alt+v")
        assert at.host.refusals == ["the clipboard has no image"]
        assert at.text == "Hi"


async def test_without_an_image_control_v_pastes_the_text_that_was_copied_here(
    desktop: FakeDesktop, tmp_path: Path
) -> None:
    desktop.program("xclip", NO_IMAGE)
    async with prompting(sources_in(tmp_path)) as at:
        at.host.copy_to_clipboard("copied")
        await pasted(at, "ctrl+v", "!")
        assert at.text == "copied!"
        assert at.host.refusals == []


async def test_while_the_clipboard_is_slow_a_line_says_why_keys_wait(
    desktop: FakeDesktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_paste, "_SLOW", 0.1)
    desktop.program("xclip", f"sleep 0.5; {NO_IMAGE}")
    async with prompting(sources_in(tmp_path)) as at:
        await pasted(at, "alt+v", *"ok")
        assert at.host.refusals == ["reading the clipboard …", "the clipboard has no image"]
        assert at.text == "ok"


async def test_an_answer_that_is_edited_takes_no_images(desktop: FakeDesktop, tmp_path: Path) -> None:
    async with prompting(sources_in(tmp_path)) as at:
        at.prompt.write_verbatim("An answer")
        await pasted(at, "alt+v")
        assert at.text == "An answer"
        assert at.host.refusals == ["only a message takes images"]
