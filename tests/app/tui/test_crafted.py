"""A file that passes the gate and ends llama.cpp: the chat says so once and goes on."""

from __future__ import annotations

from pathlib import Path

from app.tui.chatting import command, header, notices
from app.tui.screens.test_models import until
from app.tui.scripted_client import chat_options
from specchat.engine_process.local_client import LocalClient
from specchat.tui.app import SpecchatApp
from specchat_engine.load_options import LoadOptions
from support.tiny_models import ASSERTION, TinyModels, write_crafted_model


async def test_the_chat_says_once_which_file_it_was_and_loads_another(tmp_path: Path, tiny_models: TinyModels) -> None:
    crafted = write_crafted_model(tmp_path / "crafted.gguf")
    client = LocalClient(tmp_path / "worker.log")
    vars(client)["idle"] = True
    options = chat_options(target=crafted, draft=None, load=LoadOptions(threads=1))
    async with SpecchatApp(options, client).run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: bool(notices(pilot)))
        (notice,) = notices(pilot)
        first, second = notice.splitlines()
        assert f"llama.cpp cannot use {crafted}: " in first
        assert ASSERTION in first
        assert second.startswith("A message tries to load the model again")
        assert not client.alive
        await command(pilot, f"/model {tiny_models.target}")
        await until(pilot, lambda: "active" in header(pilot))
        assert len(notices(pilot)) == 1
        await command(pilot, f"/draft {crafted}")
        await until(pilot, lambda: len(notices(pilot)) == 2)
        assert f"llama.cpp cannot use {crafted}: " in notices(pilot)[1]
        assert "The pair that was there is loaded again" in notices(pilot)[1]
        await until(pilot, lambda: "active" in header(pilot))
