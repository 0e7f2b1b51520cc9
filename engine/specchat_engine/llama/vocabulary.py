"""The tokens of a model: text to ids and ids to bytes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import DecodeError
from specchat_engine.grammar.matcher import MatcherState, begin, tokenizer_of
from specchat_engine.llama.library import api
from specchat_engine.prompt.encoding import encode_text

if TYPE_CHECKING:
    from llguidance import LLTokenizer

_CONTROL_ATTRIBUTES = 1 << 0 | 1 << 3
"""LLAMA_TOKEN_ATTR_UNKNOWN and LLAMA_TOKEN_ATTR_CONTROL: llama.cpp reads their texts as tokens only on request.

User-defined tokens (runs of newlines, `<think>`) are left out: llama.cpp always reads their texts as tokens.
"""

_TOO_LONG = -(2**31)
"""What `llama_tokenize` returns for more tokens than it can count."""

_TYPES = {0: "none", 1: "SentencePiece", 2: "byte-level BPE", 3: "WordPiece", 4: "unigram", 5: "RWKV", 6: "PLaMo-2"}


class Vocabulary:
    """One model's vocabulary; lives as long as the model. Ids run from 0 to `size` - 1."""

    def __init__(self, handle: Any) -> None:
        self._native = handle
        self.size: int = api.llama_vocab_n_tokens(handle)
        self.type: str = _TYPES.get(api.llama_vocab_type(handle), "unknown")
        self.special: dict[str, int] = {
            name: getattr(api, f"llama_vocab_{name}")(handle) for name in ("bos", "eos", "eot")
        }
        self.adds_bos: bool = bool(api.llama_vocab_get_add_bos(handle))
        self._pieces: dict[int, bytes] = {}
        self._tokenizers: dict[frozenset[tuple[int, bytes]], LLTokenizer] = {}
        self._buffer = ctypes.create_string_buffer(256)

    @property
    def _handle(self) -> Any:
        self.check_open()
        return self._native

    def close(self) -> None:
        """Makes every later lookup an error, since the model is about to be freed."""
        self._native = None
        self._tokenizers.clear()

    def check_open(self) -> None:
        """Raises DecodeError if the model was closed, so that native code never touches freed tokens."""
        if self._native is None:
            raise DecodeError("the model was closed: load it again")

    @cached_property
    def ends(self) -> frozenset[int]:
        """The ids that end an answer."""
        return frozenset(token for token in range(self.size) if api.llama_vocab_is_eog(self._handle, token))

    @cached_property
    def special_texts(self) -> tuple[str, ...]:
        """The texts that the tokenizer reads as control tokens on request, longest first."""
        texts = {
            self.text(token)
            for token in range(self.size)
            if api.llama_vocab_get_attr(self._handle, token) & _CONTROL_ATTRIBUTES
        }
        return tuple(sorted((text for text in texts if text), key=len, reverse=True))

    @cached_property
    def silent(self) -> NDArray[np.bool_]:
        """Which tokens [size] print nothing because they are control tokens, without those that end an answer."""
        controls = (api.llama_vocab_get_attr(self._handle, token) & _CONTROL_ATTRIBUTES for token in range(self.size))
        silent = np.fromiter(controls, np.int64, self.size) > 0
        silent[[*self.ends]] = False
        return silent

    @cached_property
    def letters(self) -> dict[int, int]:
        """The id of the token that is a byte and nothing else, by the byte; not every byte need have one."""
        return {piece[0]: token for token in range(self.size) if len(piece := self.piece(token)) == 1}

    def compile_grammar(self, text: str, shown: Mapping[int, bytes] = MappingProxyType({})) -> MatcherState:
        """The beginning of a text that follows a grammar, in any syntax that `grammar.source` reads.

        The `shown` control tokens count as their texts, others are never allowed.

        Raises SettingError, in one line, for a grammar that cannot be used.
        """
        return begin(text, self.prepare_grammars(shown))

    def prepare_grammars(self, shown: Mapping[int, bytes]) -> LLTokenizer:
        """Builds once what all grammars with these `shown` tokens need: up to two seconds for a large vocabulary.

        Raises SettingError for a vocabulary without a token that ends an answer.
        """
        self.check_open()
        key = frozenset(shown.items())
        if key not in self._tokenizers:
            self._tokenizers[key] = tokenizer_of(
                self, shown, partial(encode_text, tokenizer=self, piece=self.piece, shown=shown)
            )
        return self._tokenizers[key]

    def text(self, token: int) -> str:
        """The token's text in the vocabulary's table (byte-level tokens in their printable form)."""
        text = api.llama_vocab_get_text(self._handle, token) or b""
        return str(text.decode("utf-8", "replace"))

    def tokenize(self, text: str, *, special: bool, add_bos: bool = False) -> list[int]:
        """The ids of a text. With `special`, texts of control tokens become these tokens, else plain text.

        Raises DecodeError if llama.cpp cannot tokenize the text.
        """
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        while True:
            ids = (ctypes.c_int32 * room)()
            count = api.llama_tokenize(self._handle, data, len(data), ids, room, add_bos, special)
            if count >= 0:
                return list(ids[:count])
            if -count <= room or count == _TOO_LONG:
                raise DecodeError(f"llama.cpp could not tokenize a text of {len(data)} bytes (code {count})")
            room = -count

    def piece(self, token: int) -> bytes:
        """The bytes of a token, none for a control token. Raises DecodeError if llama.cpp cannot say."""
        known = self._pieces.get(token)
        if known is not None:
            return known
        count = api.llama_token_to_piece(self._handle, token, self._buffer, len(self._buffer), 0, False)
        if count < 0:
            self._buffer = ctypes.create_string_buffer(-count)
            count = api.llama_token_to_piece(self._handle, token, self._buffer, len(self._buffer), 0, False)
        if count < 0:
            raise DecodeError(f"llama.cpp does not give the text of token {token} (code {count})")
        piece = self._buffer.raw[:count]
        self._pieces[token] = piece
        return piece
