"""What llama.cpp is told instead of a file's own metadata."""

from __future__ import annotations

from dataclasses import replace

from specchat_engine.gguf.files import read_model
from specchat_engine.llama.overrides import without_tokenizer
from support.engine_files import EngineFiles


def test_a_file_without_its_tokenizer_has_as_many_tokens_as_before(files: EngineFiles) -> None:
    header = read_model(files.draft)
    none, size, end = without_tokenizer(header)
    assert (none.key, none.value.val_str) == (b"tokenizer.ggml.model", b"none")
    assert (size.key, size.value.val_i64) == (b"llama.vocab_size", header.n_vocab)
    assert end.key == b""


def test_an_architecture_with_a_name_that_no_key_has_room_for_is_left_to_llama_cpp(files: EngineFiles) -> None:
    header = read_model(files.draft)
    endless = replace(header, metadata={**header.metadata, "general.architecture": "x" * 500})
    assert without_tokenizer(endless)[1].key == b"x" * 127
