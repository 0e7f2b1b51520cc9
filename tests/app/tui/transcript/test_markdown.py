import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.terminal.pieces import Clickable, shown
from specchat.terminal.word_wrap import Line, cells
from specchat.tui.transcript.markdown import MarkdownRows

PARTS = [
    "# Title\n",
    "\n",
    "a *b* `c` ",
    "- one\n",
    "  - two\n",
    "1. x\n",
    "> q\n",
    "```py\n",
    "x = 1\n",
    "| a | b |\n",
]
PARTS += ["|---|---|\n", "---\n", "<b>", "[l](http://x.y)", "漢字👍", "word " * 9, "&amp;", "**"]


def look(line: Line) -> str:
    return "".join(piece.text for piece in (*line.prefix, *line.pieces))


def rows(source: str, width: int = 40) -> list[str]:
    return [look(line).rstrip() for line in MarkdownRows(width, source).lines]


def test_paragraphs_lists_and_quotes_stand_apart() -> None:
    source = "One\ntwo\n\n- a\n- b\n  1. c\n\n> q\n"
    assert rows(source) == ["One two", "", "• a", "• b", "  1. c", "", "▎ q"]


def test_the_rows_of_an_item_are_aligned_with_its_text() -> None:
    assert rows("- " + "word " * 4, 12) == ["• word word", "  word word"]


def test_code_keeps_its_lines_and_can_be_copied() -> None:
    found = MarkdownRows(40, "```python\ndef f():\n    return 1\n```\n")
    assert [look(line) for line in found.lines] == [" def f():", "     return 1"]
    assert found.codes == ["def f():\n    return 1"]
    assert len({piece.ink for line in found.lines for piece in line.pieces}) > 2, "it is highlighted"


def test_a_link_says_where_it_leads() -> None:
    pieces = MarkdownRows(40, "see [it](http://x.y)").lines[0].pieces
    assert [piece.ink.argument for piece in pieces if isinstance(piece.ink, Clickable)] == ["http://x.y"]


def test_a_list_that_streams_stays_one_list() -> None:
    streamed = MarkdownRows(40)
    for piece in ("intro\n\n", "- a\n", "- b\n", "- c\n\n", "end"):
        streamed.write(piece)
    assert [look(line) for line in streamed.lines] == ["intro", "", "• a", "• b", "• c", "", "end"]


def test_a_table_that_is_too_wide_wraps_inside_its_columns() -> None:
    assert rows("| a | b |\n|--|--|\n| 1 | some words here |\n", 16) == [
        "a  │ b",
        "───┼────────────",
        "1  │ some words",
        "   │ here",
    ]


def test_html_is_only_text() -> None:
    assert rows("<script>alert(1)</script>\n\na <b>c</b>") == ["<script>alert(1)</script>", "", "a <b>c</b>"]


@given(st.lists(st.sampled_from(PARTS), max_size=14), st.integers(4, 30))
def test_no_row_is_wider_than_the_screen(parts: list[str], width: int) -> None:
    for line in MarkdownRows(width, "".join(parts)).lines:
        assert cells(look(line)) <= width


@given(st.lists(st.sampled_from(PARTS), max_size=14), st.integers(1, 5))
def test_streamed_text_is_laid_out_like_text_written_at_once(parts: list[str], size: int) -> None:
    source = "\n\n".join(part.strip() for part in parts if "```" not in part)
    streamed = MarkdownRows(30)
    for begin in range(0, len(source), size):
        streamed.write(source[begin : begin + size])
    assert [look(line) for line in streamed.lines] == rows_unstripped(source)


def rows_unstripped(source: str) -> list[str]:
    return [look(line) for line in MarkdownRows(30, source).lines]


@given(st.text(max_size=60))
def test_any_text_can_be_laid_out(text: str) -> None:
    for line in MarkdownRows(20, shown(text)).lines:
        assert cells(look(line)) <= 20
        assert "\n" not in look(line)


@pytest.mark.parametrize(
    "hostile",
    ["*a " * 3000, "[" * 3000, ">" * 3000, "`" * 3000, "- " * 3000, "x" * 100_000],
    ids=["stars", "brackets", "quotes", "ticks", "items", "one word"],
)
def test_text_made_to_be_slow_is_laid_out_in_time(hostile: str) -> None:
    assert MarkdownRows(80, hostile).lines


@pytest.mark.parametrize(
    "source", ["a &#13;b &#12;c &#x202e;d &rlm;e &#8232;f", "| a |\n|---|\n| b &#13;c &#x202e;d |"]
)
def test_character_references_pass_the_filter_too(source: str) -> None:
    text = "".join(rows(shown(source)))
    assert text == shown(text)
    assert "b " in text


def test_code_blocks_are_numbered_on_their_first_row_also_while_they_grow() -> None:
    grown = MarkdownRows(40, codes_above=1)
    for character in "```\na\nb\n```\n\ntext\n\n```\nc\n```\n":
        grown.write(character)
    numbers = [(line.text, line.label.text.strip()) for line in grown.lines if line.label is not None]
    assert numbers == [("a", "2"), ("c", "3")]
