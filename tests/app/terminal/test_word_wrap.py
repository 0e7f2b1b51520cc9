from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from specchat.terminal.pieces import Ink, Piece, shown
from specchat.terminal.word_wrap import Wrapper, cells, drawn, fit

HOSTILE = "ab \n漢é👍🏽\u200d\ufe0f\u0301\u0300👩🇩🇪\u200cक्ष\u0e33"
TEXTS = st.lists(st.one_of(st.text(alphabet=HOSTILE, max_size=12), st.text(max_size=6).map(shown)), max_size=12)


def wrapped(width: int, *texts: str) -> Wrapper:
    wrapper = Wrapper(width)
    for text in texts:
        wrapper.write([Piece(text, Ink.PLAIN)])
    return wrapper


def rows(width: int, *texts: str) -> list[str]:
    return [line.text for line in wrapped(width, *texts).lines]


def test_words_move_to_the_next_row_as_a_whole() -> None:
    assert rows(10, "seven eight nine") == ["seven ", "eight nine"]


def test_a_word_that_grows_by_tokens_moves_when_it_no_longer_fits() -> None:
    assert rows(8, "over", " see", "ing", "!") == ["over ", "seeing!"]


def test_a_word_longer_than_the_row_is_folded() -> None:
    assert rows(4, "abcdefghij") == ["abcd", "efgh", "ij"]


def test_indentation_survives() -> None:
    assert rows(20, "def f():\n    return 1") == ["def f():", "    return 1"]


def test_a_character_of_two_cells_is_never_cut_in_half() -> None:
    assert rows(3, "漢漢") == ["漢", "漢"]


def test_marks_stay_with_their_letter() -> None:
    assert rows(4, "abcde\u0301\u0302", "f") == ["abcd", "e\u0301\u0302f"]


def test_appending_changes_only_the_last_row_and_later_ones() -> None:
    wrapper = Wrapper(6)
    wrapper.write([Piece("one two three ", Ink.PLAIN)])
    before = list(wrapper.lines[:-1])
    first = wrapper.write([Piece("four five", Ink.ACCEPTED)])
    assert wrapper.lines[: len(before)] == before
    assert first == len(before)


def test_a_word_of_a_hundred_thousand_letters_is_folded_like_any_other() -> None:
    assert rows(100, "x" * 100_000) == ["x" * 100] * 1000
    assert rows(100, "漢" * 100_000) == ["漢" * 50] * 2000


def test_the_row_of_a_character_is_found() -> None:
    wrapper = wrapped(6, "one two three")
    assert [wrapper.row_at(place) for place in (0, 7, 8, 12, 99)] == [0, 1, 2, 2, 2]


@given(TEXTS, st.integers(2, 9))
def test_no_row_is_wider_than_the_screen(texts: list[str], width: int) -> None:
    for row in rows(width, *texts):
        assert cells(row) <= width
        assert cell_len(drawn(row)) == cells(drawn(row)) == cells(row)


@given(TEXTS, st.integers(2, 9))
def test_wrapping_does_not_depend_on_token_boundaries(texts: list[str], width: int) -> None:
    assert rows(width, *texts) == rows(width, "".join(texts))


@given(TEXTS, st.integers(2, 9))
def test_rows_and_endings_joined_are_the_text(texts: list[str], width: int) -> None:
    lines = wrapped(width, *texts).lines
    assert "".join(line.text + line.ending for line in lines) == "".join(texts)
    assert [line.start for line in lines] == [
        len("".join(line.text + line.ending for line in lines[:index])) for index in range(len(lines))
    ]


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("漢字", 4),
        ("é", 1),
        ("e\u0301", 1),
        ("👍", 2),
        ("👍🏽", 2),
        ("👩\u200d👧", 4),
        ("❤\ufe0f", 1),
        ("한", 2),
    ],
)
def test_a_text_takes_the_same_cells_on_every_terminal(text: str, width: int) -> None:
    assert cells(text) == width
    assert cell_len(drawn(text)) == width


def test_piles_of_combining_marks_are_limited() -> None:
    assert drawn("e" + "\u0301" * 1000 + "x") == "e" + "\u0301" * 4 + "x"


def test_the_part_that_fits_includes_the_marks_of_its_last_character() -> None:
    assert fit("ae\u0301b", 2) == 3
    assert fit("a漢b", 2) == 1
    assert fit("abcdef", 2, 3) == 5


@given(st.text(max_size=20).map(shown))
def test_textual_counts_the_same_cells(text: str) -> None:
    text = text.replace("\n", "")
    assert cell_len(drawn(text)) == cells(text)
