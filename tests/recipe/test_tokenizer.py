"""The tokenizer gives back every text, and cuts texts as llama.cpp does."""

from __future__ import annotations

import ctypes
from pathlib import Path
from random import Random

import llama_cpp
import pytest

from builtin_pair import gguf_file
from builtin_pair.gguf_file import read_tokenizer, write_gguf
from builtin_pair.tokenizer import BytePairTokenizer, awkward_texts
from specchat_engine.training.model import ModelConfig, TorchLlama
from support.toy_tokenizer import DESCRIPTION, SPECIALS, tokenizer_of

CONFIG = ModelConfig(vocab_size=320, width=32, layers=1, heads=1, kv_heads=1, feed_forward=32)


@pytest.fixture(scope="module")
def tokenizer() -> BytePairTokenizer:
    return tokenizer_of(512)


def test_the_special_tokens_have_the_first_ids(tokenizer: BytePairTokenizer) -> None:
    assert tokenizer.tokens[:3] == list(SPECIALS)
    assert tokenizer.encode("<|im_start|>a<|im_end|>")[::2] == [1, 2]


def test_every_text_comes_back(tokenizer: BytePairTokenizer) -> None:
    for text in awkward_texts(Random(3), 300):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_tokenizer_that_was_saved_or_is_made_of_its_tokens_and_merges_is_the_same(
    tokenizer: BytePairTokenizer, tmp_path: Path
) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = BytePairTokenizer.load(tmp_path / "tokenizer.json")
    assert (loaded.tokens, loaded.merges) == (tokenizer.tokens, tokenizer.merges)
    again = BytePairTokenizer.of(tokenizer.tokens, tokenizer.merges, len(SPECIALS))
    assert (again.tokens, again.merges, again.specials) == (tokenizer.tokens, tokenizer.merges, tokenizer.specials)
    for text in (*awkward_texts(Random(4), 300), "<|im_start|>a<|im_end|>"):
        assert again.encode(text) == tokenizer.encode(text)
        assert again.decode(again.encode(text)) == tokenizer.decode(tokenizer.encode(text))


def test_llama_cpp_cuts_two_thousand_awkward_texts_alike(tokenizer: BytePairTokenizer, tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.gguf"
    config = ModelConfig(vocab_size=512, width=32, layers=1, heads=1, kv_heads=1, feed_forward=32)
    write_gguf(path, TorchLlama(config), tokenizer, DESCRIPTION, "F32")
    params = llama_cpp.llama_model_default_params()
    params.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
    vocabulary = llama_cpp.llama_model_get_vocab(model)
    try:
        for text in awkward_texts(Random(5), 2000):
            data = text.encode()
            ids = (ctypes.c_int32 * (len(data) + 8))()
            count = llama_cpp.llama_tokenize(vocabulary, data, len(data), ids, len(ids), False, True)
            assert list(ids[:count]) == tokenizer.encode(text), repr(text)
        assert llama_cpp.llama_vocab_is_eog(vocabulary, SPECIALS.index("<|im_end|>"))
    finally:
        llama_cpp.llama_model_free(model)


def test_a_written_tokenizer_comes_back(tmp_path: Path) -> None:
    write_gguf(tmp_path / "toy.gguf", TorchLlama(CONFIG), tokenizer_of(320), DESCRIPTION, "F16")
    back, written = read_tokenizer(tmp_path / "toy.gguf"), tokenizer_of(320)
    assert (back.tokens, back.merges, back.specials) == (written.tokens, written.merges, written.specials)


def test_a_tokenizer_that_cuts_words_in_another_way_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(gguf_file, "PRE_TOKENIZER", "gpt-2")
        write_gguf(tmp_path / "toy.gguf", TorchLlama(CONFIG), tokenizer_of(320), DESCRIPTION, "F16")
    with pytest.raises(ValueError, match="gpt-2"):
        read_tokenizer(tmp_path / "toy.gguf")


def test_a_tokenizer_of_another_size_and_too_little_text_for_a_size_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give more text"):
        BytePairTokenizer.train(["a b"], 1000, SPECIALS)
    with pytest.raises(ValueError, match="must agree"):
        write_gguf(tmp_path / "toy.gguf", TorchLlama(CONFIG), tokenizer_of(300), DESCRIPTION, "F32")
