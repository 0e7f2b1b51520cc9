"""What an answer may say next under a grammar.

The sampler asks a grammar which of some tokens may come next, and what follows a token. So tests can use grammars
written in plain Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import DecodeError


class GrammarState(Protocol):
    """A place in a text that follows a grammar. It never changes."""

    @property
    def forced(self) -> int | None:
        """The only token that may come here because the grammar leaves one continuation; None if there is a choice."""

    def allows(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these token ids [n] may come here; the ids that end an answer only if it is complete."""

    def after(self, token: int) -> GrammarState | None:
        """The place after one more token, None if no text that follows the grammar has it here.

        A continuation that is forced can be written with other tokens too. They have a place, although `allows` leaves
        only one of them: an answer may be given to begin with them.
        """


class GrammarVocabulary(Protocol):
    """A vocabulary that understands grammars."""

    @property
    def size(self) -> int:
        """The number of tokens; ids start at 0."""

    @property
    def letters(self) -> Mapping[int, int]:
        """The id of the token that is a byte and nothing else, by the byte; not every byte need have one."""

    def piece(self, token: int) -> bytes:
        """The bytes of a token, none for a control token."""

    def compile_grammar(self, text: str, shown: Mapping[int, bytes] = ...) -> GrammarState:
        """The beginning of a text that follows this grammar, in which the `shown` control tokens count as their texts.

        Raises SettingError for a grammar that cannot be used.
        """


class Constraint:
    """Follows one answer through its grammar from its first token on, and reads no token twice.

    The places after the drafted tokens of the current round are kept, for the draft model and the target alike. When
    the context grows, only the place that it reached stays.
    """

    __slots__ = ("_known", "_length")

    def __init__(self, start: GrammarState) -> None:
        """`start` is the beginning of a text that follows the grammar."""
        self._length = 0
        self._known: dict[tuple[int, ...], GrammarState | None] = {(): start}

    def begin(self, prompt_length: int) -> None:
        """Says that the answer starts after this many tokens of the context."""
        self._length = prompt_length

    def after(self, context: Sequence[int], drafted: Sequence[int]) -> GrammarState | None:
        """The place after the context and the drafted tokens; valid until the context grows.

        None if the grammar excludes a drafted token. The target then gives that token no probability, so the answer
        never gets there. Raises DecodeError if the context itself left the grammar.
        """
        if len(context) > self._length:
            self._keep_only(tuple(context[self._length :]))
            self._length = len(context)
        return self._after(tuple(drafted))

    def forced(self, context: Sequence[int], most: int) -> tuple[int, ...]:
        """Up to `most` tokens that have to follow the context, because each of them is the only one that may come."""
        tokens: list[int] = []
        while len(tokens) < most and (state := self.after(context, tokens)) and state.forced is not None:
            tokens.append(state.forced)
        return tuple(tokens)

    def _after(self, tokens: tuple[int, ...]) -> GrammarState | None:
        """The place after these tokens, which follow the context; it is remembered."""
        known = self._known
        length = len(tokens)
        while length and tokens[:length] not in known:
            length -= 1
        state = known[tokens[:length]]
        for place in range(length, len(tokens)):
            state = known[tokens[: place + 1]] = state.after(tokens[place]) if state is not None else None
        return state

    def _keep_only(self, tokens: tuple[int, ...]) -> None:
        """Makes the place after these tokens the one that all others start from."""
        state = self._after(tokens)
        if state is None:
            raise DecodeError(f"the answer went on with {tokens}, which its grammar excludes: the verifier is broken")
        self._known = {(): state}
