"""Images in the chat: shown, sent to models that see them, and refused for others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from app.tui.chatting import Chat, chat, command, note, prompt, questions, quiet, screen, seen, transcript
from app.tui.scripted_client import LOADED, ScriptedClient, script
from specchat.engine_process.protocol import TaskFailed
from specchat.settings.paths import images_folder
from specchat.tui.app import SpecchatApp
from specchat.tui.screens.question import PageConsentScreen
from specchat_assets import TARGET_NAME
from support.clipboards import FakeDesktop
from support.documents import write_picture

pytest.importorskip("PIL", reason="needs the extra specchat[files]")


@pytest.fixture(autouse=True)
def photo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_picture(tmp_path / "photo.jpg", (40, 30))


async def send(pilot: Chat, text: str) -> None:
    prompt(pilot).write(text)
    await pilot.press("enter")
    await pilot.app.workers.wait_for_complete([worker for worker in pilot.app.workers if worker.group == "attachments"])
    await quiet(pilot)


async def test_an_image_goes_to_the_model_and_is_shown_below_the_message_also_of_a_stored_one() -> None:
    client = ScriptedClient()
    async with chat(client) as pilot:
        await send(pilot, "What is @photo.jpg?")
        (message,) = client.asked[-1]
        assert message.content == "What is @photo.jpg?"
        assert [Path(path).parent for path in message.images] == [images_folder()]
        assert Path(message.images[0]).read_bytes().startswith(b"\x89PNG")
        rows = seen(pilot)
        assert any("▣ photo.jpg (40 × 30)" in row for row in rows)
        assert note(pilot) == ""
        assert sum("▀▀▀▀" in row for row in rows) == 12
        stored = screen(pilot).state.session.conversation.id
        await command(pilot, "/new")
        assert questions(pilot) == []
        await screen(pilot).conversations.resume(stored)
        await pilot.pause()
        assert "▣ photo.jpg (40 × 30)" in questions(pilot)[0].text
        await send(pilot, "And now?")
        assert client.asked[-1][0].images == message.images
        assert client.asked[-1][-1].images == ()


async def test_a_model_that_sees_nothing_says_so_and_the_message_stays() -> None:
    client = ScriptedClient(load_events=(replace(LOADED, no_images_because="it has no projector"),))
    async with chat(client) as pilot:
        await send(pilot, "What is @photo.jpg?")
        assert client.asked == []
        assert prompt(pilot).text == "What is @photo.jpg?"
        assert questions(pilot) == []
        assert "it has no projector" in note(pilot)


async def test_a_server_that_refuses_an_image_says_so_and_the_message_goes_back_to_the_prompt() -> None:
    client = ScriptedClient(rounds=[], failure=TaskFailed("localhost answers 400: this model reads no images"))
    async with chat(client) as pilot:
        await send(pilot, "What is @photo.jpg?")
        assert len(client.asked[-1][-1].images) == 1
        assert prompt(pilot).text == "What is @photo.jpg?"
        assert questions(pilot) == []
        assert any("this model reads no images" in row for row in seen(pilot))
        client.failure, client.rounds = None, script("> Hello")
        await pilot.press("enter")
        await pilot.app.workers.wait_for_complete([one for one in pilot.app.workers if one.group == "attachments"])
        await quiet(pilot)
        assert len(client.asked[-1][-1].images) == 1


async def test_a_page_is_asked_about_on_a_screen_of_its_own() -> None:
    client = ScriptedClient()
    async with chat(client) as pilot:
        prompt(pilot).write("Sum up @http://127.0.0.1:9/a")
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(pilot.app.screen, PageConsentScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert client.asked == []
        assert prompt(pilot).text == "Sum up @http://127.0.0.1:9/a"


@pytest.fixture
def terminal_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pilot has no terminal that could be given away."""
    monkeypatch.setattr(SpecchatApp, "suspend", lambda _: nullcontext())


async def test_a_program_that_cannot_be_started_gives_the_terminal_back(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("textual_image", reason="needs the extra specchat[files]")
    done = []

    @contextmanager
    def suspend(_: object) -> Iterator[None]:
        done.append("given away")  # as in Textual: what goes wrong inside is not caught
        yield
        done.append("back")

    async def start(*_: object, **__: object) -> None:
        raise FileNotFoundError(2, "no such program")

    monkeypatch.setattr(SpecchatApp, "suspend", suspend)
    async with chat(ScriptedClient()) as pilot:
        await send(pilot, "What is @photo.jpg?")
        transcript(pilot).focus()
        transcript(pilot).select(questions(pilot)[0])
        monkeypatch.setattr("asyncio.create_subprocess_exec", start)
        await pilot.press("o")
        await pilot.app.workers.wait_for_complete()
        assert done == ["given away", "back"]
        assert "the image cannot be shown: no such program" in note(pilot)


@pytest.mark.usefixtures("terminal_for_others")
async def test_the_selected_message_shows_its_image_in_full(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("textual_image", reason="needs the extra specchat[files]")
    async with chat(ScriptedClient()) as pilot:
        await send(pilot, "What is @photo.jpg?")
        transcript(pilot).focus()
        transcript(pilot).select(questions(pilot)[0])
        await pilot.press("o")
        await pilot.app.workers.wait_for_complete()
        assert "Any key goes back to the chat." in capfd.readouterr().out
        await quiet(pilot)
        for path in images_folder().glob("*.png"):
            path.unlink()
        await pilot.press("o")
        await pilot.pause()
        assert "the image was deleted" in note(pilot)


async def test_paste_adds_the_image_in_the_clipboard(
    photo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeDesktop(tmp_path / "programs", monkeypatch).copied(photo)
    client = ScriptedClient()
    async with chat(client) as pilot:
        await command(pilot, "/paste")
        await pilot.app.workers.wait_for_complete([each for each in pilot.app.workers if each.group == "clipboard"])
        await pilot.pause()
        assert prompt(pilot).text.startswith("@clipboard-")
        assert "with the image clipboard-" in note(pilot)
        await send(pilot, f"What is {prompt(pilot).text}")
        (message,) = client.asked[-1]
        assert len(message.images) == 1
        assert any("▣ clipboard-" in row and "(40 × 30)" in row for row in seen(pilot))


async def test_what_the_guide_does_not_know_about_an_image_is_not_searched_for_in_the_docs() -> None:
    async with chat(ScriptedClient(script("> I do not know that.")), (140, 50), target=TARGET_NAME) as pilot:
        await send(pilot, "Which GPU is in @photo.jpg?")
        assert not any("searches the docs" in row for row in seen(pilot))
        await send(pilot, "Which GPU do you want?")
        assert any("searches the docs" in row for row in seen(pilot))
