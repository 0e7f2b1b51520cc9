"""Checks a prefill: the first tokens of an answer, given by the caller."""

from __future__ import annotations

from collections.abc import Sequence

from specchat_engine.errors import SettingError
from specchat_engine.grammar.constraint import Constraint
from specchat_engine.models import SessionVocabulary


def check_given(tokens: Sequence[int], vocabulary: SessionVocabulary, constraint: Constraint | None) -> None:
    """Checks the given tokens and moves the answer's constraint, which is at its beginning, past them.

    Raises SettingError for a token that the vocabulary does not have, that ends an answer, or that the grammar
    excludes.
    """
    passed: list[int] = []
    for place, token in enumerate(tokens):
        if token not in range(vocabulary.size):
            raise SettingError(
                f"the answer is to begin with token {token}: this vocabulary has 0 to {vocabulary.size - 1}"
            )
        if token in vocabulary.ends:
            raise SettingError(
                f"the answer is to begin with token {token} at position {place}, which ends an answer: stop before it"
            )
        if constraint and constraint.after(passed, (token,)) is None:
            raise SettingError(
                f"the answer is to begin with token {token} at position {place}, which its grammar excludes there: "
                "stop before it, or lift the grammar"
            )
        passed.append(token)
    if constraint:
        constraint.after(passed, ())


def check_room(tokens: Sequence[int], wanted: int, room: int) -> None:
    """Raises SettingError if an answer of at most `wanted` tokens, or the context's `room`, is too small for these."""
    count = len(tokens)
    if count > room:
        raise SettingError(
            f"the answer is to begin with {count} tokens, the context has room for {room}: give fewer or load with a "
            "larger -c"
        )
    if count > wanted:
        raise SettingError(
            f"the answer is to begin with {count} tokens, max tokens is {wanted}: allow more or give fewer"
        )
