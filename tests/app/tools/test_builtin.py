"""The tools that come with the application."""

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from specchat.errors import ToolError
from specchat.tools.builtin import BuiltIns, named_file


def test_the_time_is_given_with_its_day_and_zone() -> None:
    then = datetime(2026, 3, 1, 9, 5, tzinfo=timezone(timedelta(hours=1)))
    text = BuiltIns(now=lambda: then).call("current_time", {}).text
    assert text == "Sunday, 01 March 2026, 09:05:00 (UTC+0100)"


def test_files_are_read_only_if_the_user_named_them(tmp_path: Path) -> None:
    named, other = tmp_path / "notes.md", tmp_path / "secret.md"
    named.write_text("hello\x1b[2J")
    other.write_text("hidden")
    tools = BuiltIns([named])
    assert tools.call("read_file", {"path": str(named)}).text == "hello"
    assert tools.call("read_file", {"path": "notes.md"}).text == "hello"
    for path in (str(other), "secret.md", f"{tmp_path}/sub/../secret.md", ""):
        with pytest.raises(ToolError, match="none of the files"):
            tools.call("read_file", {"path": path})


def test_without_named_files_there_is_no_tool_that_reads() -> None:
    assert "read_file" not in [tool.name for tool in BuiltIns().tools]
    assert "read_file" in [tool.name for tool in BuiltIns([Path("a")]).tools]


def test_files_that_are_too_large_gone_or_no_text_are_refused(tmp_path: Path) -> None:
    large, binary, gone = tmp_path / "large", tmp_path / "binary", tmp_path / "gone"
    large.write_bytes(b"x" * (256 * 1024 + 1))
    binary.write_bytes(b"\xff\xfe\x00")
    tools = BuiltIns([large, binary, gone])
    for name, why in (("large", "more than 256 KiB"), ("binary", "not text"), ("gone", "there is no file gone")):
        with pytest.raises(ToolError, match=why):
            tools.call("read_file", {"path": name})


def test_a_pipe_and_a_folder_are_no_files(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(ToolError, match="there is no file"):
            named_file(path)
        with pytest.raises(ToolError, match="there is no file"):
            BuiltIns([path]).call("read_file", {"path": str(path)})


def test_the_model_is_offered_short_names_unless_two_are_the_same(tmp_path: Path) -> None:
    files = [tmp_path / "a" / "notes.md", tmp_path / "b" / "notes.md", tmp_path / "plan.md"]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text(file.parent.name)
    tools = BuiltIns(files)
    names = tools.tools[-1].schema["properties"]["path"]["enum"]
    assert names == [str(files[0]), str(files[1]), "plan.md"]
    assert [tools.call("read_file", {"path": name}).text for name in names[:2]] == ["a", "b"]
    with pytest.raises(ToolError, match="none of the files"):
        tools.call("read_file", {"path": "notes.md"})


def test_arguments_of_another_type_and_unknown_tools_are_refused() -> None:
    with pytest.raises(ToolError, match="expression is 3"):
        BuiltIns().call("calculate", {"expression": 3})
    with pytest.raises(ToolError, match="no tool 'rm'"):
        BuiltIns().call("rm", {})
