"""The input of a terminal that answers late, in pieces, or while the user types."""

from hypothesis import given
from hypothesis import strategies as some
from textual.events import Key

from specchat.ground import Ground
from specchat.tui.listening import ListeningParser

ANSWERS = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;22c"


def keys(parser: ListeningParser, *pieces: str) -> str:
    """What was typed, by the events of these pieces of input."""
    events = [event for piece in pieces for event in (*parser.feed(piece), *parser.tick())]
    return "".join(event.character or f"<{event.key}>" for event in events if isinstance(event, Key))


def test_what_was_typed_before_comes_first() -> None:
    assert keys(ListeningParser(ground=Ground(typed="be")), "fore") == "before"


def test_what_was_typed_before_needs_no_further_key() -> None:
    parser = ListeningParser(ground=Ground(typed="Hi"))
    assert [event.key for event in parser.tick() if isinstance(event, Key)] == ["H", "i"]
    assert list(parser.tick()) == []


@given(some.lists(some.integers(0, len(ANSWERS) + 4), max_size=6).map(sorted))
def test_late_answers_are_nobodys_keys_wherever_they_are_cut(cuts: list[int]) -> None:
    text = f"ab{ANSWERS}cd"
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True) if end > start]
    parser = ListeningParser(ground=Ground(late=True))
    events = [event for piece in pieces for event in parser.feed(piece)]
    assert "".join(event.key for event in events if isinstance(event, Key)) == "abcd"


def test_after_the_last_answer_the_input_is_textuals_alone() -> None:
    parser = ListeningParser(ground=Ground(late=True))
    assert keys(parser, ANSWERS) == ""
    assert keys(parser, "x", "\x1b[A") == "x<up>"


def test_keys_arrive_while_answers_are_expected() -> None:
    parser = ListeningParser(ground=Ground(late=True))
    assert keys(parser, "a", "\x1b[A", "\x1b[13;2u") == "a<up><shift+enter>"
