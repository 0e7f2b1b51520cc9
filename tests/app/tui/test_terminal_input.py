"""Input of a terminal that answers late, in pieces, or while the user types."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as some

from specchat.terminal.background import Background
from specchat.tui import paste_filter, terminal_input
from specchat.tui.terminal_input import InputFilter

START, END = "\x1b[200~", "\x1b[201~"
COLOURED_LOG = "one\rred \x1b[31mERROR\x1b[0m \x1b[A \x1b\r\x1b] two\r\x1b[200~three\r"
LOG = "one\nred ERROR  \ufffd\n\nthree\n"
ANSWERS = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;22c"


def filter_of(typed: str = "", *, late: bool = False, ready: Callable[[], bool] = lambda: True) -> InputFilter:
    return InputFilter(Background(typed=typed, late=late), ready)


def passed(found: InputFilter, *pieces: str) -> str:
    """What reaches the app of these pieces of input."""
    return "".join(found.feed(piece) + found.feed() for piece in pieces)


def test_what_was_typed_before_the_start_comes_first() -> None:
    assert passed(filter_of("be"), "fore") == "before"


def test_what_was_typed_before_the_start_needs_no_further_key() -> None:
    found = filter_of("Hi")
    assert found.waiting
    assert found.feed() == "Hi"
    assert found.feed() == ""
    assert not found.waiting


@pytest.mark.parametrize(
    ("typed", "heard"), [("Hi?\n", "Hi?\r"), ("a\n  b\n", "a\n  b\n"), ("a\nb", "a\nb"), ("Hi?\r", "Hi?\r")]
)
def test_a_line_typed_before_the_start_is_sent_and_several_lines_are_not(typed: str, heard: str) -> None:
    assert filter_of(typed).feed(early=True) == heard
    assert filter_of().feed(typed, early=True) == heard


def test_a_new_line_is_no_enter_even_where_much_input_comes_at_once() -> None:
    ready = False
    found = filter_of(ready=lambda: ready)
    assert found.feed(early=True) == ""
    assert found.feed("one\n") == ""
    ready = True
    assert found.feed() == "one\n"
    assert filter_of().feed("two\n") == "two\n"


def test_later_input_stays_as_it_is() -> None:
    assert passed(filter_of("a"), "b", "\n") == "ab\n"


@given(some.lists(some.integers(0, len(ANSWERS) + 4), max_size=6).map(sorted))
def test_late_answers_are_dropped_wherever_they_are_cut(cuts: list[int]) -> None:
    text = f"ab{ANSWERS}cd"
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True) if end > start]
    found = filter_of(late=True)
    assert "".join(found.feed(piece) for piece in pieces) == "abcd"


def test_keys_pass_while_answers_are_expected_and_after_them() -> None:
    found = filter_of(late=True)
    assert passed(found, "a", "\x1b[A", "\x1b[13;2u") == "a\x1b[A\x1b[13;2u"
    assert passed(found, ANSWERS) == ""
    assert passed(found, "x", "\x1b[A") == "x\x1b[A"


def test_a_lone_escape_passes_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(terminal_input, "monotonic", lambda: now)
    found = filter_of(late=True)
    assert found.feed("\x1b") == ""
    assert found.waiting
    now = 1.0
    assert found.feed() == "\x1b"


def test_keys_that_come_too_early_wait_for_the_app_in_their_order() -> None:
    ready = False
    found = filter_of("on", late=True, ready=lambda: ready)
    assert passed(found, "e", ANSWERS, " tw") == ""
    ready = True
    assert passed(found, "o") == "one two"
    ready = False
    assert passed(found, "!") == "!", "once ready, it is not asked again"


def test_an_app_that_is_never_ready_gets_them_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(terminal_input, "monotonic", lambda: now)
    found = filter_of("q", ready=lambda: False)
    assert passed(found, "u") == ""
    now = 6.0
    assert found.feed() == "qu"


def test_alt_enter_of_plain_terminals_is_ctrl_j() -> None:
    assert passed(filter_of(), f"one\x1b\rtwo{START}", f"{END}\x1b\r", "\r") == f"one\ntwo{START}{END}\n\r"


@given(some.lists(some.integers(0, len(COLOURED_LOG) + 20), max_size=6).map(sorted))
def test_a_paste_is_one_text_whatever_is_in_it_and_wherever_it_is_cut(cuts: list[int]) -> None:
    text = f"a\x1b[A{START}{COLOURED_LOG}{END}b{START}{END}c"
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True) if end > start]
    assert passed(filter_of(), *pieces) == f"a\x1b[A{START}{LOG}{END}b{START}{END}c"


def test_keys_pass_at_once_even_where_a_paste_might_begin() -> None:
    found = filter_of()
    assert [found.feed(key) for key in ("\x1b", "[", "\x1b[20", "x")] == ["\x1b", "[", "\x1b[20", "x"]


def test_a_paste_without_an_end_ends_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(paste_filter, "monotonic", lambda: now)
    found = filter_of()
    assert found.feed(f"{START}one") + found.feed("\r") == START
    assert found.waiting
    assert found.feed() == ""
    now = 6.0
    assert found.feed() == f"one\n{END}"
    assert not found.waiting
    assert found.feed("\r") == "\r"


def test_a_long_paste_takes_no_time() -> None:
    found = filter_of()
    passed_on = found.feed(START) + "".join(found.feed("\x1b]x\x1bPy" * 800) for _ in range(2_000)) + found.feed(END)
    assert "\x1b" not in passed_on.removeprefix(START).removesuffix(END)
