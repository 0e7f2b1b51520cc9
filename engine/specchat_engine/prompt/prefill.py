"""Tokens of an answer that are given, not chosen: may it begin so?"""

from __future__ import annotations

from collections.abc import Sequence

from specchat_engine.errors import SettingError
from specchat_engine.grammar.constraint import Constraint
from specchat_engine.models import SessionVocabulary


def check_given(tokens: Sequence[int], vocabulary: SessionVocabulary, constraint: Constraint | None) -> None:
    """Leads an answer's constraint, which is at its beginning, behind these tokens.

    Raises SettingError for a token that the vocabulary does not have, that ends an answer, or that the grammar
    excludes.
    """
    led: list[int] = []
    for place, token in enumerate(tokens):
        if token not in range(vocabulary.size):
            raise SettingError(
                f"the answer is to begin with token {token}: this vocabulary has 0 to {vocabulary.size - 1}"
            )
        if token in vocabulary.ends:
            raise SettingError(
                f"the answer is to begin with token {token} at position {place}, which ends an answer: stop before it"
            )
        if constraint and constraint.after(led, (token,)) is None:
            raise SettingError(
                f"the answer is to begin with token {token} at position {place}, which its grammar excludes there: "
                "stop before it, or lift the grammar"
            )
        led.append(token)
    if constraint:
        constraint.after(led, ())


def check_room(tokens: Sequence[int], wanted: int, room: int) -> None:
    """Raises SettingError where an answer of at most `wanted` tokens cannot hold these. `room` is the context's."""
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
