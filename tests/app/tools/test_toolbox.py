"""All tools of a chat."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat.errors import ToolError
from specchat.tools.declared import ToolServer
from specchat.tools.tool import ToolResult
from specchat.tools.toolbox import BUILT_IN, Toolbox
from specchat_engine.prompt.messages import ToolCall
from support.faulty_mcp_server import COMMAND
from support.processes import running, wait_until


@pytest.fixture
def toolbox() -> Iterator[Toolbox]:
    box = Toolbox([ToolServer("faulty", COMMAND)])
    box.turn_on(BUILT_IN)
    yield box
    box.close()


ECHO = ToolCall("faulty_echo", '{"text": "hi"}')
PRODUCT = ToolCall("calculate", '{"expression": "6 * 7"}')


def test_a_server_is_offered_shown_and_called_from_when_it_is_turned_on_until_it_is_turned_off(
    toolbox: Toolbox,
) -> None:
    built_in, faulty = toolbox.summary_lines()
    assert (toolbox.summary_lines("builtin"), toolbox.summary_lines("faulty")) == ((built_in,), (faulty,))
    assert built_in == "builtin (part of specchat): current_time, calculate"
    assert faulty.startswith("faulty (")
    assert faulty.endswith("): off")
    assert [server.name for server in toolbox.servers] == ["faulty"]
    assert [tool.called for tool in toolbox.tools] == ["current_time", "calculate"]
    toolbox.turn_on("faulty")
    assert "faulty_echo, faulty_hang" in toolbox.summary_lines()[1]
    assert "faulty_echo" in [tool.called for tool in toolbox.tools]
    assert (toolbox.call(ECHO).text, toolbox.call(PRODUCT).text) == ("hi", "42")
    toolbox.turn_off(BUILT_IN)
    assert "calculate" not in [tool.called for tool in toolbox.tools]
    assert toolbox.call(PRODUCT).failed
    toolbox.turn_off("faulty")
    assert toolbox.tools == ()
    assert toolbox.call(ECHO).failed


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (ToolCall("rm", "{}"), "there is no tool 'rm': use current_time, calculate"),
        (ToolCall("calculate", "{"), "no JSON object"),
        (ToolCall("calculate", "[" * 100_000), "no JSON object"),
        (ToolCall("calculate", "[1]"), "no JSON object"),
        (ToolCall("calculate", "{}"), "expression is None"),
    ],
)
def test_the_result_of_a_call_that_cannot_be_made_says_why(toolbox: Toolbox, call: ToolCall, why: str) -> None:
    result = toolbox.call(call)
    assert result.failed
    assert why in result.text


def test_an_undeclared_server_is_refused(toolbox: Toolbox) -> None:
    with pytest.raises(ToolError, match="known are builtin, faulty"):
        toolbox.turn_on("other")


def test_a_stop_ends_the_server_of_the_running_call_alone_and_the_next_call_starts_it_again(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    box = Toolbox([ToolServer(name, (*COMMAND, "well", str(tmp_path / name))) for name in ("one", "two")])
    results: list[ToolResult] = []
    try:
        for name in ("one", "two"):
            box.turn_on(name)
        before = running(str(tmp_path / "two"))
        call = ToolCall("one_hang", f'{{"begun": "{begun}"}}')
        thread = threading.Thread(target=lambda: results.append(box.call(call)))
        thread.start()
        wait_until(begun.exists)
        box.stop()
        thread.join(600)
        assert results[0].failed
        assert "the server one was stopped" in results[0].text
        assert box.call(ToolCall("one_echo", '{"text": "again"}')).text == "again"
        assert before
        assert running(str(tmp_path / "two")) == before
    finally:
        box.close()
