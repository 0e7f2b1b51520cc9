"""The tokens of a tree in reading order: what was not taken stands before what was."""

from __future__ import annotations

from dataclasses import replace

from specchat.terminal.palette import strands, word_of
from specchat.terminal.pieces import Ink, Inker
from specchat_engine.decoding.rounds import Round, TokenKind
from support.drawn_rounds import sample_round

CHAIN = sample_round([("a", "The"), ("r", " dog"), ("d", " ran")], (TokenKind.CORRECTION, " cat"))
SIBLING = replace(
    sample_round([("a", "The"), ("a", " cat"), ("r", " dog"), ("d", " ran")], (TokenKind.BONUS, " sat")),
    parents=(-1, 0, 0, 2),
)
MISSED = replace(
    sample_round([("a", "The"), ("r", " dog"), ("r", " cow"), ("d", " ran")], (TokenKind.CORRECTION, " cat")),
    parents=(-1, 0, 0, 1),
)
FORKED = replace(
    sample_round(
        [("a", "The"), ("a", " cat"), ("r", " dog"), ("d", " ran"), ("d", " sat")], (TokenKind.BONUS, " slept")
    ),
    parents=(-1, 0, 0, 2, 2),
)


def texts(event: Round) -> list[tuple[str, bool]]:
    return [("".join(token.text for token in strand.tokens), strand.aside) for strand in strands(event)]


def test_a_chain_is_one_strand() -> None:
    assert texts(CHAIN) == [("The dog ran", False)]
    assert word_of(CHAIN) == "●○·◆"


def test_a_branch_that_was_not_taken_stands_before_the_token_that_was() -> None:
    assert texts(SIBLING) == [("The", False), (" dog ran", True), (" cat", False)]
    assert word_of(SIBLING) == "●(○·)●◇"


def test_a_branch_with_branches_of_its_own_is_drawn_whole() -> None:
    assert texts(FORKED) == [("The", False), (" dog ran sat", True), (" cat", False)]
    assert word_of(FORKED) == "●(○··)●◇"


def test_behind_the_accepted_tokens_the_first_branch_goes_on_as_a_chain_would() -> None:
    assert texts(MISSED) == [("The", False), (" dog ran", False), (" cow", True)]
    assert word_of(MISSED) == "●○·(○)◆"


def test_every_token_is_drawn_once_and_the_answer_reads_in_order() -> None:
    for event in (CHAIN, SIBLING, MISSED, FORKED):
        pieces = [*Inker().pieces(event)]
        assert sum(piece.tokens for piece in pieces) == len(event.drafted) + 1
        assert "".join(piece.text for piece in pieces if piece.emitted) == event.text
    assert [piece.ink for piece in Inker().pieces(SIBLING)] == [
        Ink.ACCEPTED,
        Ink.REJECTED,
        Ink.DISCARDED,
        Ink.ACCEPTED,
        Ink.BONUS,
    ]


def test_a_token_of_a_tree_is_as_deep_as_the_path_to_it() -> None:
    assert SIBLING.depths == (0, 1, 1, 2)
    assert CHAIN.depths == (0, 1, 2)
