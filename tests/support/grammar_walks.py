"""Texts that a grammar allows, found by walking through it with a real vocabulary."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from specchat_engine.grammar.constraint import GrammarState
from specchat_engine.llama.vocabulary import Vocabulary

_CLOSING = (b'"', b"}", b"]", b":", b"e", b"l", b">", b"<", b"/", b"\n")


def random_text(vocabulary: Vocabulary, grammar: str, seed: int, marks: Sequence[str] = ()) -> str:
    """One of the answers that a grammar allows, by a random walk that prefers to come to an end, and to `marks`."""
    chance = random.Random(seed)
    every = np.arange(vocabulary.size)
    state = vocabulary.compile_grammar(grammar)
    text = b""
    while len(text) < 2000:
        allowed = every[state.allows(every)].tolist()
        ends = [token for token in allowed if token in vocabulary.ends]
        if ends and (len(ends) == len(allowed) or chance.random() < 0.5):
            break
        closing = [token for token in allowed if vocabulary.piece(token) in _CLOSING]
        token = _next_of_a_mark(vocabulary, text, marks, chance) if marks else None
        if token not in allowed:
            token = chance.choice(closing if closing and chance.random() < 0.5 else sorted(set(allowed) - set(ends)))
        text += vocabulary.piece(token)
        following = state.after(token)
        assert following is not None
        state = following
    return text.decode("utf-8", "replace")


def _next_of_a_mark(vocabulary: Vocabulary, text: bytes, marks: Sequence[str], chance: random.Random) -> int | None:
    """Often the token that goes on with a mark that the text ends in, and sometimes one that begins a mark."""
    begun, mark = max((_begun(mark.encode(), text), chance.random(), mark.encode()) for mark in marks)[::2]
    if chance.random() > (0.97 if begun else 0.2):
        return None
    return next(token for token in range(vocabulary.size) if vocabulary.piece(token) == mark[begun : begun + 1])


def _begun(mark: bytes, text: bytes) -> int:
    """How many bytes of a mark the text ends with."""
    return next(length for length in range(len(mark) - 1, -1, -1) if text.endswith(mark[:length]))


def allows(vocabulary: Vocabulary, grammar: str, text: str) -> bool:
    """Whether a grammar allows this text as a whole answer."""
    state: GrammarState | None = vocabulary.compile_grammar(grammar)
    for token in [*vocabulary.tokenize(text, special=False), min(vocabulary.ends)]:
        state = state.after(token) if state else None
    return state is not None
