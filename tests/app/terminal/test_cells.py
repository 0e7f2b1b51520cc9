import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from specchat.terminal.pieces import shown
from specchat.terminal.wrapping import cells, drawn, fit


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
def test_a_text_takes_the_cells_that_every_terminal_gives_it(text: str, width: int) -> None:
    assert cells(text) == width
    assert cell_len(drawn(text)) == width


def test_a_pile_of_marks_is_cut() -> None:
    assert drawn("e" + "\u0301" * 1000 + "x") == "e" + "\u0301" * 4 + "x"


def test_what_fits_takes_the_marks_of_its_last_character_along() -> None:
    assert fit("ae\u0301b", 2) == 3
    assert fit("a漢b", 2) == 1
    assert fit("abcdef", 2, 3) == 5


@given(st.text(max_size=20).map(shown))
def test_the_screen_library_counts_what_is_drawn_alike(text: str) -> None:
    text = text.replace("\n", "")
    assert cell_len(drawn(text)) == cells(text)
