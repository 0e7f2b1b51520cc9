from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.terminal.filter import TerminalFilter, clean, clean_line

CONTROLS = [chr(code) for code in (*range(32), 0x7F, *range(0x80, 0xA0))]
INVISIBLE = list("\u200b\u200e\u200f\u202a\u202e\u2066\u2069\ufeff\U000e0041")
hostile_text = st.text(st.one_of(st.characters(), st.sampled_from([*CONTROLS, *INVISIBLE, "\ud800", "\u2028"])))


def is_dangerous(character: str) -> bool:
    if character in "\n\t":
        return False
    bidi = unicodedata.bidirectional(character) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return bidi or unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}


@given(hostile_text)
def test_nothing_that_a_terminal_obeys_comes_through(text: str) -> None:
    assert not [character for character in clean(text) if is_dangerous(character)]


@given(st.lists(hostile_text))
def test_the_way_a_text_is_cut_into_tokens_makes_no_difference(pieces: list[str]) -> None:
    stream = TerminalFilter()
    assert "".join(map(stream.feed, pieces)) == clean("".join(pieces))


@given(hostile_text)
def test_filtered_text_is_left_alone(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters(categories=["L", "M", "N", "P", "S", "Zs"])))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize("text", ["\x1b[31mred\x1b[0m", "\x1b]52;c;ZWNobw==\x07", "\x9b31m", "\x90q\x9c"])
def test_escape_sequences_become_harmless_text(text: str) -> None:
    assert clean(text).isprintable()
    assert "\ufffd" in clean(text)


def test_an_escape_sequence_split_over_tokens_does_not_leak() -> None:
    stream = TerminalFilter()
    assert [stream.feed(piece) for piece in ("a\x1b", "[", "31m")] == ["a\ufffd", "[", "31m"]


@pytest.mark.parametrize(("text", "shown"), [("a\r\nb", "a\nb"), ("a\rb", "a\nb"), ("a\n\nb\tc", "a\n\nb\tc")])
def test_line_ends_of_all_systems_are_one_newline(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_a_line_end_split_over_tokens_is_one_newline() -> None:
    stream = TerminalFilter()
    assert [stream.feed(piece) for piece in ("a\r", "", "\n", "b")] == ["a\n", "", "", "b"]


def test_emoji_and_persian_keep_their_joiners() -> None:
    text = "👩\u200d💻 می\u200cخواهم"
    assert clean(text) == text


def test_overrides_of_the_reading_direction_vanish() -> None:
    assert clean("ab\u202ecd\u2066ef") == "abcdef"


def test_a_name_is_one_line() -> None:
    assert clean_line("a\nb\x1b[2J\t c") == "a b\ufffd[2J c"
