from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from specchat.errors import ExportError
from specchat.traces.exports import KINDS, conversation, export_session, kind_of, markdown
from specchat.traces.exports.document import Document
from specchat.traces.exports.svg import svg
from specchat.traces.trace import Trace, read_trace
from support.sample_traces import sample_trace

TRACE = sample_trace()
MESSAGES = conversation([TRACE])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty one."""
    path = tmp_path / "exports"
    path.mkdir()
    return path


def test_every_kind_is_written_whole_and_json_lines_are_a_trace_again(folder: Path) -> None:
    for kind in KINDS:
        export_session(kind, "Cats", MESSAGES, [TRACE, TRACE], folder / kind)
        assert (folder / kind).stat().st_size > 100, kind
    assert {path.name for path in folder.iterdir()} == {*KINDS}
    assert read_trace(folder / "jsonl") == [TRACE, TRACE]


def test_texts_name_the_images_of_a_recorded_question() -> None:
    names = ["ab" * 32, "cd" * 32]
    message = {"role": "user", "content": "What is this?", "images": [*names, "no hash", 5]}
    shown = Trace(TRACE.start | {"messages": [message]}, TRACE.rounds, TRACE.end)
    later = [message, {"role": "assistant", "content": shown.text}, {"role": "user", "content": "And now?"}]
    after = Trace(TRACE.start | {"messages": later, "turn": 1}, TRACE.rounds, TRACE.end)
    said = conversation([shown, after])
    assert [role for role, *_ in said] == ["user", "assistant", "user", "assistant"]
    assert said[0][1] == "[image abababababab]\n[image cdcdcdcdcdcd]\nWhat is this?"
    assert "[image abababababab]\n" in markdown(Document("Cats", tuple(said), (shown,)))
    assert "[image abababababab]" in svg(Document("Cats", (), (shown,)))
    assert "[image" not in svg(Document("Cats", (), (after,)))
    hostile = Trace(TRACE.start | {"messages": [message | {"images": 5}]}, TRACE.rounds, TRACE.end)
    assert conversation([hostile])[0][1] == "What is this?"


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
    with pytest.raises(ExportError, match="cannot be written: No space left"):
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


MARKUP = st.text(st.sampled_from("`~#->*_<!/ \n\tab1.[]()|&\\"), max_size=30)


def headings(text: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(text)
    return [tokens[place + 1].content for place, token in enumerate(tokens) if token.type == "heading_open"]


def test_a_session_has_a_title_the_models_the_roles_and_the_figures() -> None:
    trace = sample_trace()
    text = markdown(Document("Cats", tuple(conversation([trace])), (trace,)))
    assert text == (
        "# Cats\n\nspecchat-guide 18M ⇠ specchat-draft 2M\n\n"
        "## You\n\n```text\nWhat is a round?\n```\n\n"
        "## specchat-guide 18M\n\nThe cat sat on the red mat.\n\n"
        "`8 tokens · 571 tok/s · ×? plain · accepted 62 % · α 0.83 · τ 2.0 · draft 29 % verify 57 % other 14 % · "
        "seed 7`\n"
    )


def test_an_answer_with_a_closed_fence_stays_markdown() -> None:
    answer = "Look:\n\n```python\nprint()\n```"
    assert f"\n\n{answer}\n" in markdown(Document("t", (("assistant", answer, ""),), ()))


@pytest.mark.parametrize("answer", ["```python\nprint(", "~~~~\n```\n", "<!-- open", "<pre>\n\nopen", ""])
def test_an_answer_that_leaves_something_open_is_fenced(answer: str) -> None:
    document = Document("t", (("assistant", answer, "figures"), ("user", "next", "")), ())
    assert headings(markdown(document)) == ["t", "Assistant", "You"]


@given(MARKUP, MARKUP)
def test_no_message_swallows_another(answer: str, question: str) -> None:
    messages = (("user", question, ""), ("assistant", answer, "1 token"), ("system", question, ""))
    found = headings(markdown(Document("Title", messages, ())))
    assert [heading for heading in found if heading in ("Title", "You", "System")] == ["Title", "You", "System"]
    assert "Assistant" in found


def test_titles_and_figures_cannot_be_markup_and_control_characters_are_gone() -> None:
    document = Document("a <b> *c* \x1b[2J", (("tool\n# x", "y\x1b]0;t\x07", "`1`\n# token"),), ())
    text = markdown(document)
    assert "\x1b" not in text
    assert "# a \\<b\\> \\*c\\* \ufffd\\[2J" in text
    assert headings(text)[1:] == ["Tool \\# x"]
    assert "`'1' # token`" in text


def _after_a_call() -> list[Trace]:
    """A turn that calls a tool, and the answer after the result."""
    question = {"role": "user", "content": "What is 6 * 7?"}
    function = {"name": "calculate", "arguments": '{"expression": "6 * 7"}'}
    called = {"role": "assistant", "content": "Let me see.", "tool_calls": [{"type": "function", "function": function}]}
    result = {"role": "tool", "content": "42", "name": "calculate"}
    return [
        TRACE._replace(start={**TRACE.start, "messages": messages})
        for messages in ([question], [question, called, result])
    ]


def test_calls_and_their_results_appear_once() -> None:
    traces = _after_a_call()
    messages = conversation(traces)
    assert [role for role, _, _ in messages] == ["user", "assistant", "result of calculate", "assistant"]
    page = markdown(Document("Sums", tuple(messages), tuple(traces)))
    assert "Let me see.\n\nCalls `calculate` with:\n\n```json\n" in page
    assert "## Result of calculate\n\n```text\n42\n```" in page
    assert page.count("What is 6 \\* 7?") + page.count("What is 6 * 7?") == 1


def test_a_page_asks_with_the_results_where_the_answer_follows_them(folder: Path) -> None:
    path = folder / "out.html"
    export_session("html", "Sums", [], _after_a_call(), path)
    assert "Result of calculate: 42" in path.read_text("utf-8")
