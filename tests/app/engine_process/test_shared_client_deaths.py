"""The engine's process may die, be closed, or lose its server: nothing hangs and nothing stays."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from specchat.engine_process.errors import EngineDied, LoadFailed
from specchat.engine_process.protocol import Load, Started
from specchat.engine_process.shared_client import SharedClient
from specchat_engine import LoadOptions
from support.processes import is_gone, wait_until
from support.serving import ENDLESS, PLACES, asking, client_of, parts_of, text_of
from support.tiny_models import TinyModels, write_tiny_model


async def test_a_killed_process_fails_what_runs_and_what_waits_goes_on(tmp_path: Path, tiny_models: TinyModels) -> None:
    client = client_of(tmp_path, tiny_models)
    expected = await text_of(client, asking("hello"))
    answers = [client.answer(asking(f"hello {number}", ENDLESS)) for number in range(PLACES)]
    for answer in answers:
        assert isinstance(await anext(answer), Started)
    waiting = [asyncio.create_task(text_of(client, asking("hello"))) for _ in range(2)]
    os.kill(client.pid or 0, signal.SIGKILL)
    for answer in answers:
        with pytest.raises(EngineDied, match=r"the engine's process ended .*SIGKILL: killed from outside"):
            async for _ in answer:
                pass
    assert await asyncio.gather(*waiting) == [expected, expected]
    assert (client.deaths, client.running, client.waiting) == (1, 0, 0)
    await client.close()


async def test_closing_ends_what_runs_and_what_waits_and_leaves_no_process(
    tmp_path: Path, tiny_models: TinyModels
) -> None:
    client = client_of(tmp_path, tiny_models, places=2)
    await client.start()
    pid = client.pid or 0
    answers = [asyncio.create_task(parts_of(client, asking(f"hello {number}", ENDLESS))) for number in range(3)]
    while not client.waiting:
        await asyncio.sleep(0)
    await client.close()
    ended = await asyncio.gather(*answers, return_exceptions=True)
    assert [str(error) for error in ended if isinstance(error, EngineDied)] == ["the engine was closed"] * 3
    assert is_gone(pid)
    assert client.deaths == 0
    with pytest.raises(EngineDied, match="the engine was closed"):
        await parts_of(client, asking("hello"))


async def test_closing_while_the_models_are_loaded_leaves_no_process(tmp_path: Path, tiny_models: TinyModels) -> None:
    client = client_of(tmp_path, tiny_models)
    starting = asyncio.create_task(client.start())
    while client.pid is None:
        await asyncio.sleep(0)
    pid = client.pid
    await client.close()
    with pytest.raises(EngineDied, match="the engine was closed"):
        await starting
    assert is_gone(pid)


async def test_models_that_cannot_be_loaded_are_tried_again_with_the_next_request(tmp_path: Path) -> None:
    target = tmp_path / "target.gguf"
    client = SharedClient(tmp_path / "log", Load(str(target), None, LoadOptions(threads=1)), places=2, waiting=0)
    for _ in range(2):
        with pytest.raises(LoadFailed, match=r"target\.gguf"):
            await client.start()
    with pytest.raises(LoadFailed, match=r"target\.gguf"):
        await parts_of(client, asking("hello"))
    assert not client.alive
    write_tiny_model(target)
    assert await text_of(client, asking("hello"))
    assert client.deaths == 0
    await client.close()


async def test_a_request_that_gives_up_while_the_models_are_loaded_stops_nobody_else(
    tmp_path: Path, tiny_models: TinyModels
) -> None:
    client = client_of(tmp_path, tiny_models)
    hasty, patient = (asyncio.create_task(text_of(client, asking("hello"))) for _ in range(2))
    while client.pid is None:
        await asyncio.sleep(0)
    hasty.cancel()
    assert await patient
    assert client.running == 0
    await client.close()


_SERVER = """
import asyncio, sys
from pathlib import Path
from support.serving import ENDLESS, asking, client_of
from support.tiny_models import TinyModels

async def serve():
    client = client_of(Path(sys.argv[1]), TinyModels(Path(sys.argv[2]), Path(sys.argv[3]), Path()))
    async for part in client.answer(asking("hello", ENDLESS)):
        print(client.pid, flush=True)
        await asyncio.sleep(600)

asyncio.run(serve())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_process_ends_when_its_server_is_killed(tmp_path: Path, tiny_models: TinyModels) -> None:
    command = [sys.executable, "-c", _SERVER, tmp_path, tiny_models.target, tiny_models.draft]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    server = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, env=environment)
    assert server.stdout is not None
    pid = int(server.stdout.readline())
    assert not is_gone(pid)
    server.kill()
    server.communicate()
    wait_until(lambda: is_gone(pid))
