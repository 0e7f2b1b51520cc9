"""The windows about models, with real files and a hub on this machine."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import huggingface_hub.constants  # noqa: F401 - it reads HF_HUB_OFFLINE once, which a test below sets
import pytest

from app.tui.chatting import Chat, command, header, press, quiet, screen
from app.tui.scripted_client import ScriptedClient, chat_options
from specchat.models.preferences import Preferences, write_preferences
from specchat.settings.options import ChatOptions
from specchat.tui.app import SpecchatApp
from specchat.tui.widgets.download_bar import DownloadBar
from specchat.tui.widgets.listing import Listing
from support.hub_server import Hub, Repository, running_hub
from support.tiny_models import TinyModels, write_tiny_model


@pytest.fixture
def hub(isolated_machine: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub on this machine, and an empty cache for downloads."""
    for name in list(os.environ):
        if name.startswith(("HF_", "HUGGING", "TRANSFORMERS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HOME", str(isolated_machine / "hugging face"))
    with running_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


@pytest.fixture
def options(tiny_models: TinyModels) -> ChatOptions:
    """The chat has loaded a tiny target without a draft. All tiny models are in the library."""
    write_preferences(Preferences(folders=(str(tiny_models.target.parent),)))
    return chat_options(target=tiny_models.target, draft=None)


@asynccontextmanager
async def chatting(options: ChatOptions) -> AsyncIterator[tuple[Chat, ScriptedClient]]:
    client = ScriptedClient()
    async with SpecchatApp(options, client).run_test(size=(100, 30)) as pilot:
        await quiet(pilot)
        yield pilot, client


async def until(pilot: Chat, condition: Callable[[], bool]) -> None:
    for _ in range(3600):
        if condition():
            await pilot.pause()
            return
        await pilot.pause(0.05)
    raise AssertionError(shown(pilot))


def shown(pilot: Chat) -> str:
    """The rows of the list in view, and the text around it."""
    rows = [str(list_.get_option_at_index(at).prompt) for list_ in lists(pilot) for at in range(list_.option_count)]
    words = [str(widget.render()) for widget in pilot.app.screen.query("Static") if in_view(widget)]
    return "\n".join([*rows, *words])


def lists(pilot: Chat) -> list[Listing[object]]:
    return [one for one in pilot.app.screen.query(Listing) if in_view(one)]


def in_view(widget: object) -> bool:
    return all(node.display for node in widget.ancestors_with_self if hasattr(node, "display"))  # type: ignore[attr-defined]


async def choose(pilot: Chat, name: str) -> None:
    """Mark the row with this name."""
    list_ = lists(pilot)[0]
    for _ in range(list_.option_count):
        at = list_.highlighted
        if at is not None and name in str(list_.get_option_at_index(at).prompt):
            return
        await pilot.press("down")
    raise AssertionError(f"no {name} in\n{shown(pilot)}")


async def test_fitting_drafts_come_first_and_the_others_say_why_not(
    options: ChatOptions, tiny_models: TinyModels
) -> None:
    broken = tiny_models.target.with_name("broken.gguf")
    broken.write_bytes(b"GGUF")
    async with chatting(options) as (pilot, client):
        await command(pilot, "/draft")
        await until(pilot, lambda: "draft" in shown(pilot) and "broken" in shown(pilot))
        rows = shown(pilot).splitlines()
        assert rows[0].startswith(("✓ draft", "! draft"))
        assert next(one for one in rows if "broken" in one).startswith("✗")
        await choose(pilot, "broken")
        await pilot.press("enter")
        assert "cannot draft here" in shown(pilot)
        await press(pilot, "home", "enter")
        assert client.loaded[-1] == (tiny_models.target, tiny_models.draft)
    broken.unlink()


async def test_a_target_is_found_and_its_draft_is_chosen_after_it(
    options: ChatOptions, tiny_models: TinyModels
) -> None:
    async with chatting(options) as (pilot, client):
        await pilot.press("f8")
        await until(pilot, lambda: "stranger" in shown(pilot))
        await pilot.press(*"strang")
        await until(pilot, lambda: "target " not in shown(pilot))
        await press(pilot, "enter")
        assert client.loaded[-1] == (tiny_models.stranger, None)
        await command(pilot, "/model")
        await until(pilot, lambda: "target " in shown(pilot))
        await choose(pilot, "target ")
        await pilot.press("f4")
        await until(pilot, lambda: "no draft model" in shown(pilot) and "+" in shown(pilot))
        await choose(pilot, "no draft model")
        await press(pilot, "enter")
        assert client.loaded[-1] == (tiny_models.target, None)


async def test_a_model_of_the_hub_is_found_judged_and_downloaded_in_the_background(
    options: ChatOptions, hub: Hub, tmp_path: Path
) -> None:
    model = write_tiny_model(tmp_path / "m.gguf", layers=4, width=256).read_bytes()
    hub.repositories["a/tiny-GGUF"] = Repository({"tiny-F16.gguf": model}, downloads=5)
    hub.repositories["a/other-GGUF"] = Repository({"other-F16.gguf": model})
    async with chatting(options) as (pilot, client):
        await pilot.press("f8", "tab", "tab", *"tiny", "enter")
        await until(pilot, lambda: "a/tiny-GGUF" in shown(pilot))
        assert "other" not in shown(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "tiny-F16.gguf" in shown(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "As the target" in shown(pilot))
        assert not [asked for asked in hub.transfers() if "Range" not in asked.headers]
        hub.slow = 0.02
        await pilot.press("enter")
        await until(pilot, lambda: "% of" in shown(pilot))
        await pilot.press("f6")
        await until(pilot, lambda: "paused" in shown(pilot))
        hub.slow = 0.0
        await pilot.press("escape")
        bar = pilot.app.screen.query_one(DownloadBar)
        await until(pilot, lambda: bar.display and "paused" in str(bar.render()))
        await pilot.press("f8", "shift+tab")
        await pilot.press("f6")
        await until(pilot, lambda: "here" in shown(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: "Ctrl+G loads it" in str(bar.render()))
        await press(pilot, "ctrl+g")
        target, draft = client.loaded[-1]
        assert target.read_bytes() == model
        assert draft is None
        await until(pilot, lambda: not bar.display)


async def test_a_gated_model_and_an_unreachable_hub_are_explained(
    options: ChatOptions, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = write_tiny_model(tmp_path / "m.gguf").read_bytes()
    hub.repositories["a/gated-GGUF"] = Repository({"g-F16.gguf": model}, gated=True)
    async with chatting(options) as (pilot, _):
        await pilot.press("f8", "tab", "tab", *"gated", "enter")
        await until(pilot, lambda: "gated-GGUF" in shown(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "accept its conditions on its page" in shown(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "hf auth login" in shown(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: "Enter lists its models" in shown(pilot))
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        await pilot.press("ctrl+u", *"tiny", "enter")
        await until(pilot, lambda: "HF_HUB_OFFLINE is set" in shown(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen(pilot))
        assert "builtin-guide" in header(pilot)


async def test_a_pair_of_the_hub_is_judged_before_the_download_and_downloaded_together(
    options: ChatOptions, hub: Hub, tiny_models: TinyModels
) -> None:
    big, small = (path.read_bytes() for path in (tiny_models.stranger, tiny_models.draft))
    hub.repositories["a/pair-big-GGUF"] = Repository({"big-F16.gguf": big}, downloads=5)
    hub.repositories["a/pair-small-GGUF"] = Repository({"small-F16.gguf": small}, downloads=2)
    async with chatting(options) as (pilot, client):
        await pilot.press("f8", "tab", "tab", *"pair", "enter")
        await until(pilot, lambda: "pair-small-GGUF" in shown(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "big-F16.gguf" in shown(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "F5 on another model judges it as this one's draft" in shown(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: "pair-small-GGUF" in shown(pilot))
        await choose(pilot, "pair-small-GGUF")
        await pilot.press("enter")
        await until(pilot, lambda: "small-F16.gguf" in shown(pilot))
        await pilot.press("f5")
        await until(pilot, lambda: "As the draft of a/pair-big-GGUF:F16:" in shown(pilot))
        read = {asked.path.split("?")[0] for asked in hub.transfers()}
        assert len(read) == 2
        assert all("Range" in asked.headers for asked in hub.transfers())
        await pilot.press("enter")
        await until(pilot, lambda: "a/pair-big-GGUF:F16 + a/pair-small-GGUF:F16" in shown(pilot))
        await until(pilot, lambda: "here" in shown(pilot))
        await press(pilot, "enter")
        target, draft = client.loaded[-1]
        assert draft is not None
        assert (target.read_bytes(), draft.read_bytes()) == (big, small)


@pytest.mark.parametrize("by_list", [True, False])
async def test_quitting_interrupts_a_download_which_is_offered_at_the_next_start_and_resumes(
    options: ChatOptions, hub: Hub, tmp_path: Path, *, by_list: bool
) -> None:
    model = write_tiny_model(tmp_path / "m.gguf", layers=4, width=256).read_bytes()
    hub.repositories["a/tiny-GGUF"] = Repository({"tiny-F16.gguf": model})
    async with chatting(options) as (pilot, _):
        await pilot.press("f8", "tab", "tab", *"a/tiny-GGUF", "enter")
        await until(pilot, lambda: "tiny-F16.gguf" in shown(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "As the target" in shown(pilot))
        hub.slow = 0.05
        await pilot.press("enter")
        await until(pilot, lambda: any(0 < view.percent < 100 for view in pilot.app.downloads.views()))
        app = pilot.app
    assert isinstance(app, SpecchatApp)
    ((name, percent),) = app.unfinished
    assert name == "a/tiny-GGUF:F16"
    assert 0 < percent < 100
    (part,) = (tmp_path / "home").rglob("*.part")
    have = part.stat().st_size
    hub.slow = 0.0
    hub.asked.clear()
    async with chatting(options) as (pilot, client):
        bar = pilot.app.screen.query_one(DownloadBar)
        await until(pilot, lambda: bar.display and "% · Ctrl+G resumes" in str(bar.render()))
        assert not hub.asked
        if by_list:
            await pilot.press("f8", "shift+tab")
            await until(pilot, lambda: f"interrupted at {100 * have / len(model):.0f} %: Enter resumes" in shown(pilot))
            await pilot.press("enter")
            await until(pilot, lambda: "here" in shown(pilot))
        else:
            await pilot.press("ctrl+g")
            await until(pilot, lambda: "Ctrl+G loads it" in str(bar.render()))
        assert [asked.headers["Range"] for asked in hub.transfers()] == [f"bytes={have}-"]
        await press(pilot, "enter" if by_list else "ctrl+g")
        assert client.loaded[-1][0].read_bytes() == model
