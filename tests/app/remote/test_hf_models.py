"""The conversion that a real vLLM gets its models from, where its result was recorded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from app.remote.samples import VLLM, messages
from specchat_assets import builtin_pair

pytest.importorskip("tokenizers")
pytest.importorskip("gguf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.hf_models import convert

    made = tmp_path_factory.mktemp("draft")
    convert(builtin_pair()[1], made)
    return made


def test_the_tokenizer_gives_the_ids_that_vllm_recorded(folder: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    prompt = "<|im_start|>user\nWhat is speculative decoding?<|im_end|>\n<|im_start|>assistant\n"
    first = messages(VLLM / "draft-chat-stream-ids.txt")[0]
    assert tokenizer.encode(prompt, add_special_tokens=False).ids == first["prompt_token_ids"]
    said = [
        token
        for message in messages(VLLM / "draft-comp-stream.txt")[:-1]
        for token in message["choices"][0]["token_ids"]
    ]
    assert tokenizer.decode(said).startswith(" four five six one two")


def test_the_rows_of_a_head_go_back_to_two_halves() -> None:
    from support.hf_models import unpermuted

    original = np.arange(8 * 3).reshape(8, 3)  # two heads of four rows
    permuted = original.reshape(2, 2, 2, 3).swapaxes(1, 2).reshape(8, 3)
    assert not np.array_equal(permuted, original)
    assert np.array_equal(unpermuted(permuted, 2), original)


def test_the_configuration_is_that_of_the_file(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    assert (config["num_hidden_layers"], config["hidden_size"], config["num_key_value_heads"]) == (2, 256, 2)
    assert config["tie_word_embeddings"] is True
    assert (folder / "model.safetensors").stat().st_size > 4 * 1_900_000
