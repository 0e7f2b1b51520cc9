"""Tools in the terminal app: a model that calls them, the MCP server for the time, and a faulty one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.terminal import Terminal
from support.calling_models import DONE, call_text, write_calling_model
from support.faulty_mcp_server import COMMAND
from support.processes import running

Specchat = Callable[..., Terminal]

ASKED = "Enter once · a always in this chat"


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A model that asks for the time in Tokyo, or for a tool that never ends."""
    hang = call_text("faulty_hang", begun=str(tmp_path / "begun"))
    time = call_text("time_get_current_time", timezone="Asia/Tokyo")
    return str(write_calling_model(tmp_path / "calling.gguf", {"time": time, "hang": hang}))


@pytest.fixture(autouse=True)
def servers(environment: dict[str, str], tmp_path: Path) -> None:
    """Declares the two servers in config.toml. The faulty one has a mark by which its process is found."""
    folder = Path(environment["XDG_CONFIG_HOME"]) / "specchat"
    folder.mkdir(parents=True)
    time = json.dumps([sys.executable, "-m", "mcp_server_time"])
    # A server gets no PYTHONPATH by itself; the tests may need it to find the package.
    path = json.dumps(os.environ.get("PYTHONPATH", ""))
    faulty = json.dumps([*COMMAND, "well", str(tmp_path / "mark")])
    (folder / "config.toml").write_text(
        f"[tools.time]\ncommand = {time}\nenvironment = {{ PYTHONPATH = {path} }}\n[tools.faulty]\ncommand = {faulty}\n"
    )


def with_tools(specchat: Specchat, model: str, server: str, offered: str) -> Terminal:
    """The chat with this server, once its tools are offered."""
    terminal = specchat("chat", "-m", model)
    terminal.wait_for("speculation [●○]")
    terminal.type(f"/tools on {server}")
    terminal.wait_for(offered)
    return terminal


def test_a_call_is_made_only_with_consent_and_the_answer_goes_on(specchat: Specchat, model: str) -> None:
    terminal = with_tools(specchat, model, "time", "time_get_current_time")
    terminal.type("What time is it?")
    terminal.wait_for(ASKED)
    terminal.keys("n")
    terminal.wait_for(rf"✕ not called: time_get_current_time(.|\n)*{DONE}", absent=ASKED)
    terminal.type("What time is it?")
    shown = terminal.wait_for(ASKED)
    assert 'timezone: "Asia/Tokyo"' in shown
    assert "mcp_server_time" in shown
    terminal.keys("y")
    terminal.wait_for(rf"▸ called time_get_current_time(.|\n)*{DONE}", absent=ASKED)
    terminal.keys("Tab")
    terminal.wait_for("c Copy")
    terminal.keys("Up", "o")
    assert "<tool_call>" not in terminal.wait_for(r"▏ .*\+09:00")


def test_escape_ends_a_server_that_hangs_and_quitting_leaves_no_process(
    specchat: Specchat, model: str, tmp_path: Path
) -> None:
    terminal = with_tools(specchat, model, "faulty", "faulty_hang")
    mark, begun = tmp_path / "mark", tmp_path / "begun"

    def hang() -> None:
        terminal.type("Please hang")
        terminal.wait_for(ASKED)
        terminal.keys("y")
        terminal.wait_until(lambda _: begun.exists(), "the call")
        terminal.wait_for("Esc stops it", absent=ASKED)

    hang()
    assert running(str(mark))
    terminal.keys("Escape")
    terminal.wait_for(rf"failed: faulty_hang(.|\n)*{DONE}")
    terminal.wait_until(lambda _: not running(str(mark)), "the end of the server")
    begun.unlink()
    hang()
    assert running(str(mark))
    terminal.keys("C-q")
    terminal.wait_for("exit code 0")
    terminal.wait_until(lambda _: not running(str(mark)), "the end of the server")
