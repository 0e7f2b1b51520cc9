import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.terminal.filter import clean, without_sequences
from specchat.tui.widgets.composer import MOST_CHARACTERS, MOST_LINES, Folds


@pytest.mark.parametrize(
    ("pasted", "text"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1b]0;title", ""),
        ("\x1b]0;title\r\nnext", "\nnext"),
        ("\x1bP0;1q#0\n-\x1b\\image", "image"),
        ("\x1bPlease\nread\x1b[0m", "\nread"),
        ("\x9b31mred", "red"),
        ("\x1b(Bplain\x1b=", "plain"),
        ("N\x08NA\x08A", "NA"),
        ("a\r\nb\rc\td", "a\nb\nc\td"),
        ("a\x07b", "a\ufffdb"),
        ("ab\u202ecd", "abcd"),
        ("\x1b", "\ufffd"),
    ],
)
def test_a_paste_is_harmless_text(pasted: str, text: str) -> None:
    assert without_sequences(pasted) == text


@given(st.text(st.one_of(st.characters(), st.sampled_from("\x1b[]\\\x07\x08\x9b\r\n;m1"))))
def test_nothing_that_a_terminal_obeys_is_left_of_any_paste(text: str) -> None:
    assert clean(without_sequences(text)) == without_sequences(text)


def test_a_paste_up_to_the_limits_stays_as_it_is() -> None:
    folds = Folds()
    for text in ("\n" * MOST_LINES, "x" * MOST_CHARACTERS, ""):
        assert folds.fold(text) == text
    assert folds.fold("\n" * MOST_LINES + "x") == "[pasted #1: 21 lines]"
    assert folds.fold("x" * (MOST_CHARACTERS + 1)) == "[pasted #2: 2,001 characters]"


@given(st.lists(st.tuples(st.text(st.sampled_from("ab [#:]\n"), max_size=8), st.integers(0, 30)), max_size=6))
def test_folding_and_unfolding_lead_back(parts: list[tuple[str, int]]) -> None:
    folds = Folds()
    written = "".join(typed + folds.fold(f"{typed}\n" * lines) for typed, lines in parts)
    assert folds.unfolded(written) == "".join(typed + f"{typed}\n" * lines for typed, lines in parts)
    again = Folds(folds.used_in(written))
    assert again.unfolded(written) == folds.unfolded(written)


def test_labels_are_found_in_a_line_and_words_like_them_are_not() -> None:
    folds = Folds()
    label = folds.fold("\n" * 31)
    assert folds.spans(f"ab {label}{label} [pasted #2: 31 lines]") == [(3, 24), (24, 45)]
    assert Folds().spans(label) == []


def test_a_label_is_never_used_twice() -> None:
    folds = Folds((("[pasted #2: 31 lines]", "kept"),))
    assert folds.fold("\n" * 31) == "[pasted #3: 31 lines]"
    assert folds.unfolded("[pasted #2: 31 lines]") == "kept"
