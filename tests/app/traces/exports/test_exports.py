from __future__ import annotations

import re
from pathlib import Path

import pytest

from specchat.errors import ExportError
from specchat.traces.exports import KINDS, conversation, export_session, kind_of
from specchat.traces.trace import read_trace
from support.sample_traces import sample_trace

TRACE = sample_trace()
MESSAGES = conversation([TRACE])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty one."""
    path = tmp_path / "exports"
    path.mkdir()
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_written_whole_and_leaves_nothing_else(folder: Path, kind: str) -> None:
    path = folder / "out"
    export_session(kind, "Cats", MESSAGES, [TRACE], path)
    assert path.stat().st_size > 100
    assert list(folder.iterdir()) == [path]


def test_json_lines_are_a_trace_again(folder: Path) -> None:
    path = folder / "out.jsonl"
    export_session("jsonl", "Cats", MESSAGES, [TRACE, TRACE], path)
    assert read_trace(path) == [TRACE, TRACE]


def test_a_file_that_exists_is_kept_unless_it_may_be_written_over(folder: Path) -> None:
    path = folder / "out.md"
    path.write_text("mine")
    with pytest.raises(ExportError, match=re.escape(f"{path} exists: choose another name")):
        export_session("markdown", "Cats", MESSAGES, [], path)
    assert path.read_text() == "mine"
    export_session("markdown", "Cats", MESSAGES, [], path, overwrite=True)
    assert path.read_text("utf-8").startswith("# Cats\n")


def test_a_file_that_comes_into_being_meanwhile_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "out.md"
    monkeypatch.setattr("specchat.traces.exports.os.fsync", lambda _: path.write_text("mine"))
    with pytest.raises(ExportError, match="exists"):
        export_session("markdown", "Cats", MESSAGES, [], path)
    assert path.read_text() == "mine"
    assert list(folder.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file_and_no_part_of_the_new(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    path = folder / "out.md"
    path.write_text("old")
    monkeypatch.setattr("specchat.traces.exports.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        export_session("markdown", "Cats", MESSAGES, [], path, overwrite=True)
    assert path.read_text() == "old"
    assert list(folder.iterdir()) == [path]


@pytest.mark.parametrize(
    ("kind", "messages", "traces", "place", "words"),
    [
        ("pdf", MESSAGES, [TRACE], "x", "pdf is not a kind of export: use one of markdown, svg, jsonl, html"),
        ("markdown", [], [], "x", "there is nothing to export yet"),
        ("html", MESSAGES, [], "x", "there is no recorded turn to export as html: export it as markdown"),
        ("svg", MESSAGES, [TRACE], "missing/x", "is not a folder: make it first"),
        ("svg", MESSAGES, [TRACE], ".", "is a folder: name a file in it"),
    ],
)
def test_what_cannot_be_exported_is_said_in_one_line(
    folder: Path, kind: str, messages: list[tuple[str, str, str]], traces: list[object], place: str, words: str
) -> None:
    with pytest.raises(ExportError) as caught:
        export_session(kind, "Cats", messages, traces, folder / place)  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_path_says_by_its_ending_what_to_write() -> None:
    named = {"a.md": "markdown", "a.SVG": "svg", "a.jsonl": "jsonl", "a.html": "html"}
    assert {name: kind_of(Path(name)) for name in named} == named
    with pytest.raises(ExportError, match=r"end it in \.md, \.svg"):
        kind_of(Path("a.docx"))


def test_turns_that_go_on_with_each_other_repeat_nothing_and_others_do() -> None:
    said = [{"role": "user", "content": "What is a round?"}, {"role": "assistant", "content": TRACE.text}]
    second = sample_trace(turn=1, messages=[*said, {"role": "user", "content": "And τ?"}])
    stranger = sample_trace(question="Who are you?")
    roles = [(role, content) for role, content, _ in conversation([TRACE, second, stranger])]
    assert roles == [
        ("user", "What is a round?"),
        ("assistant", TRACE.text),
        ("user", "And τ?"),
        ("assistant", second.text),
        ("user", "Who are you?"),
        ("assistant", stranger.text),
    ]
    assert all(bool(figures) == (role == "assistant") for role, _, figures in conversation([TRACE, second]))
