"""The input of a terminal that answers late, in pieces, or while the user types."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as some
from textual.events import Key

from specchat.terminal.background import Ground
from specchat.tui.listening import ListeningParser

ANSWERS = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;22c"


def parser_of(typed: str = "", *, late: bool = False, ready: Callable[[], bool] = lambda: True) -> ListeningParser:
    return ListeningParser(ground=Ground(typed=typed, late=late), ready=ready)


def keys(parser: ListeningParser, *pieces: str) -> str:
    """What was typed, by the events of these pieces of input."""
    events = [event for piece in pieces for event in (*parser.feed(piece), *parser.tick())]
    return "".join(event.character or f"<{event.key}>" for event in events if isinstance(event, Key))


def test_what_was_typed_before_comes_first() -> None:
    assert keys(parser_of("be"), "fore") == "before"


def test_what_was_typed_before_needs_no_further_key() -> None:
    parser = parser_of("Hi")
    assert [event.key for event in parser.tick() if isinstance(event, Key)] == ["H", "i"]
    assert list(parser.tick()) == []


@pytest.mark.parametrize(
    ("typed", "heard"), [("Hi?\n", "Hi?\r"), ("a\n  b\n", "a\n  b\n"), ("a\nb", "a\nb"), ("Hi?\r", "Hi?\r")]
)
def test_a_line_that_was_typed_before_is_sent_and_several_are_not(typed: str, heard: str) -> None:
    found = "".join(str(event.character) for event in parser_of(typed).tick() if isinstance(event, Key))
    assert found == heard


def test_what_is_typed_later_is_what_it_says() -> None:
    parser = parser_of("a")
    assert keys(parser, "b", "\n") == "ab\n"


@given(some.lists(some.integers(0, len(ANSWERS) + 4), max_size=6).map(sorted))
def test_late_answers_are_nobodys_keys_wherever_they_are_cut(cuts: list[int]) -> None:
    text = f"ab{ANSWERS}cd"
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True) if end > start]
    parser = parser_of(late=True)
    events = [event for piece in pieces for event in parser.feed(piece)]
    assert "".join(event.key for event in events if isinstance(event, Key)) == "abcd"


def test_after_the_last_answer_the_input_is_textuals_alone() -> None:
    parser = parser_of(late=True)
    assert keys(parser, ANSWERS) == ""
    assert keys(parser, "x", "\x1b[A") == "x<up>"


def test_keys_arrive_while_answers_are_expected() -> None:
    parser = parser_of(late=True)
    assert keys(parser, "a", "\x1b[A", "\x1b[13;2u") == "a<up><shift+enter>"


def test_keys_that_come_too_early_wait_for_the_app_in_their_order() -> None:
    ready = False
    parser = parser_of("on", late=True, ready=lambda: ready)
    assert keys(parser, "e", ANSWERS, " tw") == ""
    ready = True
    assert keys(parser, "o") == "one two"
    ready = False
    assert keys(parser, "!") == "!", "once ready, it is not asked again"


def test_an_app_that_is_never_ready_hears_them_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("specchat.tui.listening.monotonic", lambda: now)
    parser = parser_of("q", ready=lambda: False)
    assert keys(parser, "u") == ""
    now = 6.0
    assert [event.key for event in parser.tick() if isinstance(event, Key)] == ["q", "u"]
