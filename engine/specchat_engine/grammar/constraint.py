"""What an answer may say next, where a grammar constrains it.

The sampler knows a grammar through two questions alone, which of these tokens may come here, and what comes behind
this one, so that it needs no llama.cpp and can be tested with grammars made of plain Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import DecodeError
from specchat_engine.sampling.params import SamplingParams


class GrammarState(Protocol):
    """A place in a text that follows a grammar. It never changes; it may hold native memory, so it has to be closed."""

    def allows(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these token ids [n] may come here; the ids that end an answer, where it is complete."""

    def after(self, token: int) -> GrammarState | None:
        """The place behind one more token, None where the token may not come here."""

    def close(self) -> None:
        """Frees what it holds; calling it again does nothing."""


class GrammarVocabulary(Protocol):
    """A vocabulary that understands grammars."""

    @property
    def size(self) -> int:
        """How many tokens there are; ids run from 0."""

    def compile_grammar(self, text: str) -> GrammarState:
        """The beginning of a text that follows this grammar. Raises SettingError for one that cannot be used."""


class Constraint:
    """Follows one answer through its grammar, from the answer's first token on, without reading any token twice.

    The places behind the drafted tokens of the present round are kept for the draft model and the target alike; when
    the context grows, the one that it grew to stays and all others are closed.
    """

    __slots__ = ("_known", "_length")

    def __init__(self, start: GrammarState) -> None:
        """`start` is the beginning of a text that follows the grammar; `close` closes it too."""
        self._length = 0
        self._known: dict[tuple[int, ...], GrammarState | None] = {(): start}

    def begin(self, prompt_length: int) -> None:
        """The answer starts behind so many tokens of the context."""
        self._length = prompt_length

    def behind(self, context: Sequence[int], drafted: Sequence[int]) -> GrammarState | None:
        """The place behind the context and the drafted tokens; valid until the context grows.

        None where a drafted token is one that the grammar excludes: the target gives it no probability, so that
        nothing is ever said there. Raises DecodeError where the context itself left the grammar.
        """
        if len(context) > self._length:
            self._keep_only(tuple(context[self._length :]))
            self._length = len(context)
        return self._after(tuple(drafted))

    def close(self) -> None:
        """Closes every place; nothing can be asked any more."""
        for state in self._known.values():
            if state is not None:
                state.close()
        self._known.clear()

    def _after(self, tokens: tuple[int, ...]) -> GrammarState | None:
        """The place behind these tokens, which follow the context; it is remembered."""
        known = self._known
        length = len(tokens)
        while length and tokens[:length] not in known:
            length -= 1
        state = known[tokens[:length]]
        for place in range(length, len(tokens)):
            state = known[tokens[: place + 1]] = state.after(tokens[place]) if state is not None else None
        return state

    def _keep_only(self, tokens: tuple[int, ...]) -> None:
        """Makes the place behind these tokens the one that all others start from."""
        state = self._after(tokens)
        if state is None:
            raise DecodeError(f"the answer went on with {tokens}, which its grammar excludes: the verifier is broken")
        del self._known[tokens]
        self.close()
        self._known[()] = state


def constraint_of(params: SamplingParams, vocabulary: GrammarVocabulary) -> Constraint | None:
    """What constrains an answer under these parameters, None for no grammar; it has to be closed.

    Raises SettingError for a grammar that cannot be used and for a bias on a token that does not exist.
    """
    params.check_tokens(vocabulary.size)
    return Constraint(vocabulary.compile_grammar(params.grammar)) if params.grammar else None
