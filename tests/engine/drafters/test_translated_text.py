"""The tokens of a growing text are those of the whole text, and tokens that are called certain never change."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine.drafters.translated_text import Entries, GrowingText, parted
from support.two_vocabularies import PieceTable

ALPHABET = "aab bn\n  .é😀'1x"
WORDS = (
    b"ab",
    b" a",
    b"ba",
    b" ab",
    b"aba",
    b"  ",
    b"\n\n",
    b"\xc3\xa9",
    b"\xf0\x9f",
    b"\x98\x80",
    b".a",
    b"ana",
    b"nb",
)
TEXTS = st.text(ALPHABET, max_size=40)
PIECES = st.lists(st.sampled_from(WORDS) | TEXTS.map(str.encode).map(lambda text: text[:4]), max_size=14, unique=True)
TABLES = st.builds(
    lambda pieces, words: PieceTable([one for one in pieces if len(one) > 1], words=words), PIECES, st.booleans()
)
Table = Callable[[], PieceTable]


@settings(max_examples=300)
@given(TABLES, st.lists(TEXTS, max_size=8))
def test_a_text_that_grows_has_the_tokens_of_the_whole(table: PieceTable, parts: list[str]) -> None:
    growing = GrowingText(table)
    for part in parts:
        before, peeked = growing.tokens[:], growing.continued(part)
        assert growing.tokens == before
        assert growing.tokens[: growing.settled] + peeked == table.tokenize(growing.text + part, special=False)
        settled = growing.tokens[: growing.settled]
        growing.extend(part)
        assert growing.tokens[: len(settled)] == settled
    assert growing.text == "".join(parts)
    assert growing.tokens == table.tokenize("".join(parts), special=False)
    assert b"".join(map(table.piece, growing.tokens[growing.settled :])) == growing.tail.encode()


@settings(max_examples=400)
@given(TABLES, TEXTS, TEXTS)
def test_a_certain_token_is_one_whatever_follows(table: PieceTable, text: str, more: str) -> None:
    tokens = table.tokenize(text, special=False)
    count = Entries(table).certain(text, tokens)
    assert table.tokenize(text + more, special=False)[:count] == tokens[:count]


@settings(max_examples=200)
@given(TABLES, TEXTS, st.integers(0, 60))
def test_tokens_part_where_their_bytes_do(table: PieceTable, text: str, distance: int) -> None:
    tokens = table.tokenize(text, special=False)
    behind = [len(b"".join(map(table.piece, tokens[place:]))) for place in range(len(tokens) + 1)]
    place = parted(tokens, distance, table.piece)
    assert place == (behind.index(distance) if distance in behind else None)


def test_only_the_last_words_of_a_long_text_are_tokenized_again() -> None:
    table = PieceTable([b" w", b"or", b" wor"])
    growing = GrowingText(table)
    for _ in range(200):
        growing.extend(" words")
    table.tokenized = 0
    growing.extend(" words")
    assert table.tokenized < 25
    assert len(growing.tokens) - growing.settled < 5


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ("ab", []),
        ("ab ", [b"ab"]),
        ("ab c", [b"ab", b" ", b"c"]),
        ("ab ab", [b"ab"]),
        ("abx", [b"ab", b"x"]),
        ("ab\n", [b"ab"]),
        ("é", [b"\xc3\xa9"]),
    ],
)
def test_what_may_still_become_a_longer_token_is_not_certain(text: str, certain: list[bytes]) -> None:
    table = PieceTable([b"ab", b"abc", b" ab", b" abc", b"\n\n", b"\xc3\xa9"])
    tokens = table.tokenize(text, special=False)
    assert [table.piece(token) for token in tokens[: Entries(table).certain(text, tokens)]] == certain


def test_the_entries_along_some_bytes_begin_with_them_or_are_their_beginning() -> None:
    table = PieceTable([b"abc", b"abcd", b"abd", b"xabc"])
    assert {table.piece(token) for token in Entries(table).along(b"abc")} == {b"a", b"abc", b"abcd"}
    assert {table.piece(token) for token in Entries(table).along(b"\xff")} == {b"\xff"}


def test_a_token_far_in_front_of_the_end_may_still_change() -> None:
    """`cd` is joined before `bc`, and that before `ab`: one more letter at the end moves every boundary."""
    table = PieceTable([b"cd", b"bc", b"ab"])
    before, behind = (table.tokenize(text, special=False) for text in ("abc", "abcd"))
    assert before[0] != behind[0]
    assert Entries(table).certain("abc", before) == 0
