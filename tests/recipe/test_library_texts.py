"""Code and passages of the standard library that serve as texts to copy."""

from __future__ import annotations

import ast
from collections import Counter
from itertools import islice
from random import Random

from builtin_pair import copying
from builtin_pair.library_texts import FEWEST, MOST, code_pieces, passages
from specchat_assets.benchmark import benchmark_prompts


def test_there_is_far_more_text_than_the_model_could_memorise() -> None:
    assert len(code_pieces()) > 4000
    assert len(passages()) > 1000
    assert len(set(code_pieces())) == len(code_pieces())
    assert len(set(passages())) == len(passages())


def test_pieces_of_code_and_passages_are_complete_and_neither_too_short_nor_too_long() -> None:
    for piece in code_pieces()[::40]:
        assert len(ast.parse(piece).body) == 1
        assert FEWEST <= len(piece) <= MOST
        assert piece.isascii()
    for passage in passages():
        assert FEWEST <= len(passage) <= MOST, passage
        assert "\n" not in passage, passage
        assert "  " not in passage, passage
        assert passage[-1] in ".:!?", passage


def test_only_long_chats_contain_library_texts() -> None:
    """The mix of all kinds has none; library texts come in the lesson on long texts."""
    held = Counter(
        (name, any(piece[:60] in chat.turns[0].user for piece in (*code_pieces(), *passages())))
        for name, stream in (("long", copying.long_chats(Random(2))), ("mix", copying.chats(Random(2))))
        for chat in islice(stream, 60)
    )
    assert held["mix", True] == 0
    assert held["long", True] > 8


def test_no_library_text_is_in_the_benchmark() -> None:
    asked = " ".join(text for texts in benchmark_prompts().values() for text in texts)
    assert not any(piece in asked for piece in (*code_pieces(), *passages()))
