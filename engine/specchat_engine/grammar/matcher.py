"""Places in a text that follows a grammar, held by llguidance, and the tokenizers that it needs.

Source: Moskal et al., "llguidance", https://github.com/guidance-ai/llguidance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import DecodeError, EngineError, SettingError
from specchat_engine.grammar.constraint import GrammarVocabulary
from specchat_engine.grammar.source import explained, in_one_line, limits, source_of

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer


class MatchedVocabulary(GrammarVocabulary, Protocol):
    """A vocabulary with what llguidance needs of it."""

    @property
    def ends(self) -> Set[int]:
        """The ids that end an answer."""

    @property
    def silent(self) -> NDArray[np.bool_]:
        """Which tokens [size] are control tokens that print nothing."""


class MatcherState:
    """A place in a text that follows a grammar.

    Control tokens that print nothing are never allowed, whatever their names look like. The ids that end an answer are
    allowed only if it is complete. Bytes that are not UTF-8 are never allowed.
    """

    __slots__ = ("_forced", "_mask", "_matcher", "_size")

    def __init__(self, matcher: LLMatcher, size: int) -> None:
        """Takes over a matcher. `size` is the number of tokens."""
        self._matcher = matcher
        self._size = size
        self._mask: NDArray[np.uint8] | None = None
        self._forced: tuple[int, ...] | None = None

    @property
    def forced(self) -> int | None:
        """The only token that may come here: the first of the usual tokens of a text that has to follow."""
        if self._forced is None:
            self._forced = tuple(self._matcher.compute_ff_tokens()[:1])
        return self._forced[0] if self._forced else None

    def allows(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these token ids [n] may come here; never an id that the vocabulary does not have.

        Where a token is forced, llguidance allows no other. Raises DecodeError if the grammar is too complex here.
        """
        if self._mask is None:
            self._mask = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
            if self._matcher.is_error():
                raise DecodeError(f"the grammar cannot be followed here: {in_one_line(self._matcher.get_error())}")
        known = ids < self._size
        ids = np.where(known, ids, 0)
        allowed: NDArray[np.bool_] = known & (self._mask[ids >> 3] >> (ids & 7) & 1).astype(np.bool_)
        return allowed

    def after(self, token: int) -> MatcherState | None:
        """The place after one more token, None if no text that follows the grammar has it here."""
        if not 0 <= token < self._size:
            return None
        matcher = self._matcher.deep_copy()
        return MatcherState(matcher, self._size) if matcher.consume_token(token) else None


def begin(text: str, tokenizer: LLTokenizer) -> MatcherState:
    """The beginning of a text that follows a grammar. Raises SettingError, in one line, if it cannot be used."""
    from llguidance import LLMatcher

    matcher = LLMatcher(tokenizer, source_of(text), log_level=0, limits=limits())
    if matcher.is_error():
        raise SettingError(explained(text, matcher.get_error()))
    return MatcherState(matcher, tokenizer.vocab_size)


_NAMELESS: Final = b"\xff"
"""What the bytes of a control token begin with, so that no text can be one."""


Encode = Callable[[str], list[int]]
"""Gives the ids of a text as a model writes it, the `shown` control tokens included."""


def tokenizer_of(vocabulary: MatchedVocabulary, shown: Mapping[int, bytes], encode: Encode) -> LLTokenizer:
    """A vocabulary as llguidance takes it. The `shown` control tokens count as their texts.

    Raises SettingError for a vocabulary without a token that ends an answer.
    """
    from llguidance import LLTokenizer, TokenizerWrapper

    if not vocabulary.ends:
        raise SettingError("this vocabulary has no token that ends an answer: answers cannot follow a grammar")
    return LLTokenizer(TokenizerWrapper(_Tokens(vocabulary, shown, encode)), eos_token=sorted(vocabulary.ends))


class _Tokens:
    """The tokens of a vocabulary, by the names that llguidance reads."""

    bos_token_id = None

    def __init__(self, vocabulary: MatchedVocabulary, shown: Mapping[int, bytes], encode: Encode) -> None:
        self._letters, self._encode = vocabulary.letters, encode
        self.eos_token_id = min(vocabulary.ends)
        silent = vocabulary.silent.tolist()
        pieces = [
            shown.get(token) or (b"" if silent[token] or token in vocabulary.ends else vocabulary.piece(token))
            for token in range(vocabulary.size)
        ]
        self.special_token_ids = [token for token, piece in enumerate(pieces) if not piece]
        self.tokens = [piece or _NAMELESS + str(token).encode() for token, piece in enumerate(pieces)]

    def __call__(self, text: str | bytes) -> list[int]:
        """The ids of a text as the model writes it; byte by byte if the vocabulary cannot write it otherwise."""
        data = text if isinstance(text, bytes) else text.encode()
        try:
            return self._encode(data.decode())
        except (EngineError, UnicodeDecodeError):
            return [self._letters[byte] for byte in data if byte in self._letters]
