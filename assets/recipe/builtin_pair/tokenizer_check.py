"""Checks that llama.cpp splits texts into the same tokens as the trained tokenizer."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import llama_cpp

from builtin_pair.tokenizer import BytePairTokenizer


def first_difference(gguf: Path, tokenizer: BytePairTokenizer, texts: Iterable[str]) -> str | None:
    """The first text that llama.cpp splits differently with the vocabulary of a GGUF file; None if there is none."""
    with _vocabulary(gguf) as vocabulary:
        for text in texts:
            if llama_cpp_ids(vocabulary, text) != tokenizer.encode(text):
                return text
    return None


def llama_cpp_ids(vocabulary: llama_cpp.llama_vocab_p, text: str) -> list[int]:
    """The token ids from llama.cpp, with special tokens recognised."""
    data = text.encode()
    room = len(data) + 8
    ids = (ctypes.c_int32 * room)()
    count = llama_cpp.llama_tokenize(vocabulary, data, len(data), ids, room, False, True)
    if count < 0:
        raise ValueError(f"llama.cpp could not tokenize {text[:40]!r}: it wants room for {-count} tokens")
    return list(ids[:count])


@contextmanager
def _vocabulary(gguf: Path) -> Iterator[llama_cpp.llama_vocab_p]:
    params = llama_cpp.llama_model_default_params()
    params.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(str(gguf).encode(), params)
    if not model:
        raise ValueError(f"llama.cpp cannot load {gguf}: see its messages above")
    try:
        yield llama_cpp.llama_model_get_vocab(model)
    finally:
        llama_cpp.llama_model_free(model)
