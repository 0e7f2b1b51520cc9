"""A grammar that begins at a mark: the answer is free before it and held after it."""

from __future__ import annotations

import numpy as np
import pytest

from specchat_engine import SamplingParams
from specchat_engine.grammar.awaited import GrammarStart
from specchat_engine.grammar.constraint import Constraint
from specchat_engine.grammar.held import HeldGrammar
from specchat_engine.sampling.sampler import constraint_of
from specchat_engine.testing import ByteTokenizer

HELD = SamplingParams(grammar="[c]ab\n[c]ba\n[c]\u00e9")
THINKING = ("<t>", "</t>")
MARK = 300
LONG = 301


class Vocabulary(ByteTokenizer):
    """Bytes, a control token for the mark, and a token that has the end of a mark and more."""

    size = 302

    def piece(self, token: int) -> bytes:
        return {MARK: b"", LONG: b"c]a"}[token] if token >= MARK else super().piece(token)


def awaiting(opened: bool = False) -> Constraint:
    start = GrammarStart("[c]", THINKING, opened)
    made = constraint_of(HELD, Vocabulary(), HeldGrammar(HELD.grammar, start, {MARK: b"[c]"}))
    assert made is not None
    return made


def allowed(said: list[int] | bytes, opened: bool = False, *, at_once: bool = False) -> str:
    """The bytes that may follow, "any" for all; the text grew token by token, or was drafted `at_once`."""
    constraint = awaiting(opened)
    state = constraint.after([], [*said]) if at_once else None
    for length in range(len(said) + 1) if not at_once else ():
        state = constraint.after([*said][:length], ())
    if state is None:
        return "none"
    free = state.allows(np.arange(Vocabulary.size + 1))
    assert not free[-1]
    letters = bytes(np.flatnonzero(free[:256]).tolist())
    return "any" if free[:-1].all() else letters.decode("latin-1")


@pytest.mark.parametrize("at_once", [False, True])
def test_everything_is_allowed_until_the_mark(at_once: bool) -> None:
    for said in (b"", b"well", b"well [c", b"[a] [", b"c]"):
        assert allowed(said, at_once=at_once) == "any"


@pytest.mark.parametrize("at_once", [False, True])
def test_after_the_mark_the_grammar_holds(at_once: bool) -> None:
    assert allowed(b"well [c]", at_once=at_once) == "ab\u00c3"
    assert allowed(b"well [c]a", at_once=at_once) == "b"
    assert allowed(b"[c]ab", at_once=at_once) == ""
    assert allowed(b"[c]x", at_once=True) == "none"


def test_the_mark_may_be_a_control_token() -> None:
    assert allowed([*b"well ", MARK]) == "ab\u00c3"


def test_the_token_that_ends_the_mark_may_have_more() -> None:
    assert allowed([*b"well [", LONG]) == "b"


def test_what_does_not_follow_the_mark_in_the_same_token_frees_the_answer() -> None:
    constraint = HeldGrammar("[c]ba", GrammarStart("[c]", THINKING)).constraint(Vocabulary())
    assert constraint is not None
    said = [*b"[", LONG]
    for length in range(len(said) + 1):
        state = constraint.after(said[:length], ())
    assert state is not None
    assert state.allows(np.arange(Vocabulary.size)).all()


@pytest.mark.parametrize(
    ("said", "opened", "held"),
    [
        (b"<t> [c]", False, False),
        (b" \n<t> [c]</t>", False, False),
        (b"<t> [c]</t> so [c]", False, True),
        (b"[c]", True, False),
        (b"hm</t>[c]", True, True),
        (b"see <t> [c]", False, True),
    ],
)
def test_a_mark_in_the_reasoning_does_not_count(said: bytes, opened: bool, held: bool) -> None:
    assert allowed(said, opened) == ("ab\u00c3" if held else "any")


def test_a_character_of_several_bytes_is_followed() -> None:
    assert allowed("[c]\u00e9".encode()[:-1]) == "\u00a9"
