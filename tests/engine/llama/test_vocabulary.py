"""Text to ids and back, on a real vocabulary."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine import DecodeError, Message
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.vocabulary import Vocabulary
from specchat_engine.prompt.encoding import encode
from specchat_engine.prompt.template import ChatTemplate
from support.tiny_models import SPECIALS, TEMPLATE, EngineFiles, byte_vocabulary, write_tiny_model


@given(text=st.text())
def test_plain_text_comes_back_byte_for_byte(vocabulary: Vocabulary, text: str) -> None:
    ids = vocabulary.tokenize(text, special=False)
    assert b"".join(vocabulary.piece(token) for token in ids) == text.encode("utf-8", "replace")
    assert not vocabulary.ends & set(ids)


@given(text=st.lists(st.sampled_from([*SPECIALS, "<|", "|>", "im_end", " ", "\n", "é"])).map("".join))
def test_no_message_can_forge_a_control_token(vocabulary: Vocabulary, text: str) -> None:
    ids = encode([Message("user", text)], ChatTemplate(TEMPLATE), vocabulary)
    assert [token for token in ids if token < len(SPECIALS)] == [1, 2, 1]
    said = b"".join(vocabulary.piece(token) for token in ids).decode()
    assert said == f"user\n{text}\nassistant\n"


def test_control_texts_are_tokens_only_where_parsing_is_asked_for(vocabulary: Vocabulary) -> None:
    assert vocabulary.tokenize("<|im_end|>", special=True) == [2]
    assert len(vocabulary.tokenize("<|im_end|>", special=False)) == 10


def test_a_control_token_has_no_bytes(vocabulary: Vocabulary) -> None:
    assert [vocabulary.piece(token) for token in range(3)] == [b"", b"", b""]


def test_what_is_known_of_the_vocabulary(vocabulary: Vocabulary) -> None:
    assert (vocabulary.size, vocabulary.type, vocabulary.adds_bos) == (261, "byte-level BPE", False)
    assert vocabulary.special["eos"] == 2
    assert 2 in vocabulary.ends
    assert set(vocabulary.special_texts) == set(SPECIALS)
    assert (vocabulary.text(36), vocabulary.text(35)) == ("!", "Ġ")


def test_merges_are_used(vocabulary: Vocabulary) -> None:
    assert len(vocabulary.tokenize("hello", special=False)) == 3


@pytest.mark.parametrize("text", ["", "\0", "a\0b", "\ud800", "x" * 100_000])
def test_odd_texts_are_tokenized(vocabulary: Vocabulary, text: str) -> None:
    assert b"".join(map(vocabulary.piece, vocabulary.tokenize(text, special=True))) == text.encode("utf-8", "replace")


def test_a_piece_longer_than_the_first_buffer_comes_whole(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "long.gguf", vocabulary=[*byte_vocabulary(), "z" * 700])
    model = LlamaModel(path)
    assert model.vocabulary.piece(261) == b"z" * 700
    assert model.vocabulary.piece(36) == b"!"
    model.close()


def test_after_closing_every_look_up_is_an_error(files: EngineFiles) -> None:
    model = LlamaModel(files.target)
    model.close()
    for look_up in (
        lambda: model.vocabulary.tokenize("a", special=True),
        lambda: model.vocabulary.piece(5),
        lambda: model.vocabulary.text(5),
        lambda: model.vocabulary.ends,
        lambda: model.vocabulary.special_texts,
    ):
        with pytest.raises(DecodeError, match="was closed"):
            look_up()
