"""Servers of tools that do right and wrong, driven over their standard streams."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat.errors import ToolError
from specchat.tools.connection import ServerConnection
from specchat.tools.declared import ToolServer
from specchat.tools.tool import LONGEST_RESULT
from support.faulty_mcp_server import COMMAND
from support.processes import running, wait_until


@pytest.fixture(scope="module")
def connection() -> Iterator[ServerConnection]:
    """One connection for all tests: whatever a call did, the next one has to be answered."""
    made = ServerConnection(ToolServer("faulty", COMMAND))
    yield made
    made.close()


@pytest.fixture
def mark(tmp_path: Path) -> str:
    """A word in the command of a server, by which its process is found."""
    return f"mark-of-{tmp_path.name}-{os.getpid()}"


def test_a_server_offers_its_usable_tools_and_answers_calls(connection: ServerConnection) -> None:
    offered = connection.connect()
    assert {"echo", "hang", "fail"} < {tool.name for tool in offered.tools}
    assert not {"deep", "wide"} & {tool.name for tool in offered.tools}
    assert len(offered.refused) == 2
    assert offered.tools[0].called == "faulty_echo"
    assert connection.call("echo", {"text": "naïve\n"}).text == "naïve\n"


@pytest.mark.parametrize(("tool", "text"), [("fail", "no luck"), ("lie", "not of type 'integer'")])
def test_an_error_of_a_tool_and_a_result_that_breaks_its_schema_are_failed_results(
    connection: ServerConnection, tool: str, text: str
) -> None:
    result = connection.call(tool, {})
    assert result.failed
    assert text in result.text


def test_a_result_of_structured_content_alone_is_passed_on(connection: ServerConnection) -> None:
    offered = connection.connect()
    assert "faulty_files_size" in [tool.called for tool in offered.tools]
    assert connection.call("files.size", {}).text == '{"bytes": 3}'


def test_escape_codes_do_not_reach_the_terminal(connection: ServerConnection) -> None:
    result = connection.call("escapes", {})
    assert len(result.text) < LONGEST_RESULT + 100
    assert "\x1b" not in result.text
    assert "1600004 characters" in result.text


def test_garbage_between_messages_is_skipped(connection: ServerConnection) -> None:
    assert connection.call("garbage", {}).text == "after garbage"


@pytest.mark.parametrize(("tool", "why"), [("flood", "more than 8 MiB"), ("die", "out of paper")])
def test_a_server_that_floods_or_dies_is_ended_and_the_next_call_starts_it_again(
    connection: ServerConnection, tool: str, why: str
) -> None:
    with pytest.raises(ToolError, match=why):
        connection.call(tool, {})
    assert connection.call("echo", {"text": "again"}).text == "again"


def test_a_call_that_hangs_is_ended_and_the_server_with_it(mark: str) -> None:
    connection = ServerConnection(ToolServer("faulty", (*COMMAND, "well", mark), timeout=0.5))
    connection.connect()
    assert running(mark)
    with pytest.raises(ToolError, match=r"faulty took more than 0\.5 seconds"):
        connection.call("hang", {})
    wait_until(lambda: not running(mark))


def test_a_server_that_hangs_at_its_start_is_ended(mark: str) -> None:
    connection = ServerConnection(ToolServer("faulty", (*COMMAND, "hang", mark)), connecting=2.0)
    with pytest.raises(ToolError, match="more than 2 seconds"):
        connection.connect()
    wait_until(lambda: not running(mark))


def test_a_server_whose_tools_cannot_be_read_is_refused(mark: str) -> None:
    connection = ServerConnection(ToolServer("faulty", (*COMMAND, "unreadable", mark)))
    with pytest.raises(ToolError, match="cannot be read"):
        connection.connect()
    wait_until(lambda: not running(mark))


def test_a_command_that_does_not_exist_is_named() -> None:
    connection = ServerConnection(ToolServer("faulty", ("no-such-command",)))
    with pytest.raises(ToolError, match="no-such-command"):
        connection.connect()


def test_closing_leaves_no_process(mark: str) -> None:
    connection = ServerConnection(ToolServer("faulty", (*COMMAND, "parent", mark)))
    connection.connect()
    connection.close()
    wait_until(lambda: not running(mark))


def test_a_server_and_what_it_started_end_when_the_application_is_killed(mark: str) -> None:
    server = ToolServer("faulty", (*COMMAND, "parent", mark))
    code = (
        "import os, signal\n"
        "from specchat.tools.connection import ServerConnection\n"
        "from specchat.tools.declared import ToolServer\n"
        f"ServerConnection({server!r}).connect()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    wait_until(lambda: not running(mark))


def test_a_server_gets_the_declared_environment_and_little_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hidden")
    script = tmp_path / "server.py"
    script.write_text('import os, sys; sys.exit(f\'{os.environ.get("GIVEN")} {os.environ.get("SECRET_TOKEN")}\')')
    server = ToolServer("faulty", (sys.executable, str(script)), environment={"GIVEN": "1234"})
    with pytest.raises(ToolError, match="1234 None"):
        ServerConnection(server).connect()
