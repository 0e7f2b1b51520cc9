"""What a model reads of tools and of results."""

import re

import pytest

from specchat.tools.tool import LONGEST_RESULT, Tool, ToolResult, usable
from support.faulty_mcp_server import nested


def test_a_tool_is_a_function_with_the_name_of_its_server() -> None:
    schema = {"type": "object", "properties": {"zone": {"type": "string"}}}
    function = Tool("now", "Returns the time.", schema, "time").to_function()
    assert function == {
        "type": "function",
        "function": {"name": "time_now", "description": "Returns the time.", "parameters": schema},
    }


@pytest.mark.parametrize("name", ["files.read", "ns/tool", "zwei Wörter", "a:b", "x" * 70, "y" * 69 + "."])
def test_a_name_that_models_cannot_write_has_one_that_they_can(name: str) -> None:
    (tool, other), _ = usable([Tool(name, server="s"), Tool("x" * 80, server="s")])
    assert tool.name == name
    assert re.fullmatch(r"s_[A-Za-z0-9_-]{1,62}", tool.called)
    assert tool.called != other.called


def test_descriptions_lose_their_control_characters_and_no_more() -> None:
    (tool,), refused = usable([Tool("f", "Says \x1b[31mred\x1b[0m\nthings.\u202e", server="s")])
    assert tool.description == "Says red things."
    assert refused == ()


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        (Tool("", server="s"), "nobody can write"),
        (Tool("\x1b[2J", server="s"), "nobody can write"),
        (Tool("good.", server="s"), "another one"),
        (Tool("f", schema={"type": "array"}, server="s"), "no object"),
        (Tool("f", schema=nested(500), server="s"), "too deep"),
        (Tool("f", schema={"properties": {f"p{n}": {} for n in range(5000)}}, server="s"), "16 KiB"),
    ],
)
def test_a_tool_that_no_model_can_use_is_left_out_with_one_line(tool: Tool, why: str) -> None:
    kept, (refused,) = usable([Tool("good_", server="s"), tool])
    assert [one.name for one in kept] == ["good_"]
    assert why in refused
    assert refused.isprintable()


def test_the_second_tool_of_a_name_is_left_out() -> None:
    kept, (refused,) = usable([Tool("f", "first", server="s"), Tool("f", "second", server="s")])
    assert [one.description for one in kept] == ["first"]
    assert "another one" in refused


def test_a_result_loses_escape_sequences_and_keeps_its_lines() -> None:
    assert ToolResult.of("\x1b[1ma\x1b[0m\n\tb\x07").text == "a\n\tb\ufffd"


def test_a_long_result_is_cut_and_says_so() -> None:
    result = ToolResult.of("word " * 100_000)
    assert len(result.text) < LONGEST_RESULT + 100
    assert result.text.startswith("word word")
    assert "500000 characters" in result.text
    exact = "x" * LONGEST_RESULT
    assert ToolResult.of(exact).text == exact
