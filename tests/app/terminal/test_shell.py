"""Shell commands: real ones, of every kind that could go wrong."""

import asyncio
import shlex
import sys
from pathlib import Path

import pytest

from app.tui.chatting import wait_until
from specchat.terminal.filter import clean
from specchat.terminal.shell import MOST_BYTES, CommandOutput, ShellCommand
from support.processes import is_gone


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


async def run(command: str, folder: Path) -> CommandOutput:
    return await ShellCommand(command, folder).run()


async def test_the_output_and_the_exit_code_are_kept(tmp_path: Path) -> None:
    found = await run("echo one; echo two >&2; pwd; exit 3", tmp_path)
    assert found.text == f"one\ntwo\n{tmp_path}"
    assert (found.ending, found.num_lines) == ("exit code 3", 3)


async def test_a_command_that_a_signal_ends_says_which(tmp_path: Path) -> None:
    assert (await run("kill -9 $$", tmp_path)).ending == "signal 9"


async def test_a_command_that_reads_gets_no_keys(tmp_path: Path) -> None:
    assert (await run("cat; echo end", tmp_path)).text == "end"


async def test_of_fifty_megabytes_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    found = await run(
        python("print('first'); print('x' * 79 + '\\n', end='') or print(('y' * 79 + '\\n') * 650_000); print('last')"),
        tmp_path,
    )
    assert len(found.text) < MOST_BYTES + 100
    assert found.text.startswith("first\nxxx")
    assert found.text.endswith("y\n\nlast")
    assert "bytes are left out" in found.text
    assert found.code == 0


async def test_the_output_controls_no_terminal(tmp_path: Path) -> None:
    found = await run(r"printf '\033[31mred\033[0m \033]52;c;eA==\007\007\233x\0'", tmp_path)
    assert found.text == clean(found.text)
    assert found.text.startswith("red ")


async def test_a_progress_bar_leaves_its_last_state(tmp_path: Path) -> None:
    assert (await run(r"printf '10%%\r50%%\rdone\nnext\r\n'", tmp_path)).text == "done\nnext"


async def test_a_hanging_command_and_what_it_started_end_when_it_is_stopped(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    command = ShellCommand(f"sleep 1000 & echo $! > {pid_file}; echo begun; wait", tmp_path)
    running = asyncio.create_task(command.run())
    await wait_until(lambda: "begun" in command.text)
    command.stop()
    found = await asyncio.wait_for(running, 600)
    assert (found.text, found.ending) == ("begun", "stopped")
    await wait_until(lambda: is_gone(int(pid_file.read_text())))


async def test_a_command_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    command = ShellCommand("trap '' TERM HUP; echo begun; while :; do sleep 0.1; done", tmp_path)
    running = asyncio.create_task(command.run())
    await wait_until(lambda: "begun" in command.text)
    command.stop()
    assert (await asyncio.wait_for(running, 600)).ending == "stopped"


async def test_an_endless_output_leaves_time_for_others_and_can_be_stopped(tmp_path: Path) -> None:
    command = ShellCommand("yes", tmp_path)
    running = asyncio.create_task(command.run())
    await wait_until(lambda: "left out" in command.text)
    command.stop()
    assert (await asyncio.wait_for(running, 600)).ending == "stopped"


async def test_a_command_ends_with_the_task_that_runs_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    command = ShellCommand(f"echo $$ > {pid_file}; echo begun; exec sleep 1000", tmp_path)
    running = asyncio.create_task(command.run())
    await wait_until(lambda: "begun" in command.text)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await wait_until(lambda: is_gone(int(pid_file.read_text())))
