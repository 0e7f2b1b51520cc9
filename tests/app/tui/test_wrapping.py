from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from specchat.tui.pieces import Ink, Piece
from specchat.tui.wrapping import Wrapper

TEXTS = st.lists(st.text(alphabet="ab \n漢é", max_size=12), max_size=12)


def rows(width: int, *texts: str) -> list[str]:
    wrapper = Wrapper(width)
    for text in texts:
        wrapper.write([Piece(text, Ink.PLAIN)])
    return [line.text for line in wrapper.lines]


def test_words_move_to_the_next_row_as_a_whole() -> None:
    assert rows(10, "seven eight nine") == ["seven ", "eight nine"]


def test_a_word_that_grows_by_tokens_moves_when_it_no_longer_fits() -> None:
    assert rows(8, "over", " see", "ing", "!") == ["over ", "seeing!"]


def test_a_word_longer_than_the_row_is_folded() -> None:
    assert rows(4, "abcdefghij") == ["abcd", "efgh", "ij"]


def test_indentation_survives() -> None:
    assert rows(20, "def f():\n    return 1") == ["def f():", "    return 1"]


def test_only_the_rows_from_the_last_one_on_change() -> None:
    wrapper = Wrapper(6)
    wrapper.write([Piece("one two three ", Ink.PLAIN)])
    before = list(wrapper.lines[:-1])
    first = wrapper.write([Piece("four five", Ink.ACCEPTED)])
    assert wrapper.lines[: len(before)] == before
    assert first == len(before)


@given(TEXTS, st.integers(2, 9))
def test_no_row_is_wider_than_the_screen(texts: list[str], width: int) -> None:
    assert all(cell_len(row) <= width for row in rows(width, *texts))


@given(TEXTS, st.integers(2, 9))
def test_the_way_a_text_was_cut_into_tokens_does_not_show(texts: list[str], width: int) -> None:
    assert rows(width, *texts) == rows(width, "".join(texts))


@given(TEXTS, st.integers(2, 9))
def test_nothing_but_spaces_at_the_edge_is_lost(texts: list[str], width: int) -> None:
    wrapper = Wrapper(width)
    wrapper.write([Piece(text, Ink.PLAIN) for text in texts])
    shown = "".join(line.text + line.ending for line in wrapper.lines)
    assert shown.replace(" ", "") == "".join(texts).replace(" ", "")
