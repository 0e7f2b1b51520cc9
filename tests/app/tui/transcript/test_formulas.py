"""Formulas in the Markdown view of an answer: only there, never in code, and never in what is copied."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tui.chatting import answer, ask, chat, command, note, press, seen
from app.tui.scripted_client import ScriptedClient, script
from specchat.terminal.pieces import shown
from specchat.terminal.word_wrap import Line
from specchat.tui.appearance import Appearance
from specchat.tui.transcript.markdown import MarkdownRows


def rows(source: str, width: int = 60, *, formulas: bool = True) -> list[str]:
    lines = MarkdownRows(width, source, formulas=formulas).lines
    return [look(line).rstrip() for line in lines]


def look(line: Line) -> str:
    return "".join(piece.text for piece in (*line.prefix, *line.pieces))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("It is $\\alpha^2$ then.", "It is α² then."),
        ("It is \\(x_1 \\le y\\), so", "It is x₁ ≤ y, so"),
        ("Say $$E = mc^2$$ here", "Say E = mc² here"),
        ("Say \\[E = mc^2\\] here", "Say E = mc² here"),
        ("a $x$ and a $p(x)$", "a x and a p(x)"),
        ("**$a_1$** in [a $b^2$](http://x.y)", "a₁ in a b²"),
        ("- $2x + 1 = 5$", "• 2x + 1 = 5"),
    ],
)
def test_a_formula_in_a_line_is_shown_in_unicode(source: str, expected: str) -> None:
    assert rows(source) == [expected]
    assert rows(source, formulas=False) != [expected]


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $10.",
        "From $5-$10, or $5/$6, or $1,000 = cheap, or $3.",
        "Pay $5 (or 10$) today, 5$ or 6$.",
        "$HOME and $PATH, $x and y",
        "US$ 3 and US$ 4 = 7",
        "one $ two",
        "$5 = 5 dollars and 10$",
    ],
)
def test_prices_and_variables_stay_as_they_are(text: str) -> None:
    assert rows(text) == [text]


def test_nothing_in_code_is_a_formula() -> None:
    assert rows("`$\\alpha^2$` costs $5 `$x^2$`") == ["$\\alpha^2$ costs $5 $x^2$"]
    assert rows("a $b_1 `c$` d") == ["a $b_1 c$ d"]
    assert [row.strip() for row in rows("```\n$$x^2$$\n\\[y^2\\]\n```")] == ["$$x^2$$", "\\[y^2\\]"]
    assert [row.strip() for row in rows("text\n\n    $$x^2$$")] == ["text", "", "$$x^2$$"]


@pytest.mark.parametrize("source", ["$$\na &= b^2 \\\\\n- c &= d\n$$", "\\[\na &= b^2 \\\\\n- c &= d\n\\]"])
def test_a_formula_in_its_own_lines_stands_apart(source: str) -> None:
    assert rows(f"So:\n{source}\nThen.") == ["So:", "", "    a = b²", "    - c = d", "", "Then."]


def test_what_has_no_form_in_unicode_stays_as_it_is_written() -> None:
    assert rows("So $\\binom{n}{k}_1$ *it* is") == ["So $\\binom{n}{k}_1$ it is"]
    assert rows("$$\nx") == ["$$ x"]


PARTS = ["So\n$$x$$", "$", "$$", "\\(", "\\)", "\\[", "\\]", "x^2", "`", "\n", " ", "- ", "\\frac", "{", "}", "5"]


@given(st.lists(st.sampled_from(PARTS)))
def test_no_text_stops_the_view_and_streaming_ends_the_same(parts: list[str]) -> None:
    grown = MarkdownRows(30)
    for part in parts:
        grown.write(shown(part))
    at_once = MarkdownRows(30, shown("".join(parts)))
    assert [look(line) for line in grown.lines] == [look(line) for line in at_once.lines]


async def test_a_setting_and_the_coloured_view_show_them_as_they_are_written() -> None:
    client = ScriptedClient(script("> $\\alpha^2$"))
    async with chat(client) as pilot:
        await ask(pilot)
        assert any("α²" in row for row in seen(pilot))
        assert answer(pilot).raw == " $\\alpha^2$", "copies have the text of the model"
        await press(pilot, "f3")
        assert any("$\\alpha^2$" in row for row in seen(pilot)), "and so has the coloured view"
        await press(pilot, "f3", "f3")
        await command(pilot, "/set math off")
        assert any("$\\alpha^2$" in row for row in seen(pilot))
        assert "as they are written" in note(pilot)
        await command(pilot, "/math")
        assert any("α²" in row for row in seen(pilot))
    async with chat(client, appearance=Appearance(math=False)) as pilot:
        await ask(pilot)
        assert any("$\\alpha^2$" in row for row in seen(pilot))
