"""Two vocabularies are the same when a token id means the same in both; else the first difference is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from specchat_assets import builtin_pair
from specchat_engine import PairError
from specchat_engine.gguf import GgufHeader, Value, read_model
from specchat_engine.llama.model import LlamaModel
from specchat_engine.pairing import Grade, check_pair
from specchat_engine.pairing.tokens import PADDING, adds_bos, compare_tokens, kind, special
from support.headers import parse, text_array
from support.memory_models import write_memory_model
from support.tiny_models import EngineFiles

TOKENS = [f"t{number}" for number in range(1000)]


def header(tokens: list[str] = TOKENS, model: str = "gpt2", **keys: Value) -> GgufHeader:
    """One with these tokens; `keys` go under `tokenizer.ggml.`."""
    empty = parse(b"GGUF\x03" + bytes(19))
    metadata: Mapping[str, Value] = {
        "tokenizer.ggml.model": model,
        "tokenizer.ggml.tokens": text_array(tokens),
        "tokenizer.ggml.eos_token_id": 2,
        **{f"tokenizer.ggml.{key}": value for key, value in keys.items()},
    }
    return replace(empty, metadata=metadata)


def reason(target: GgufHeader, draft: GgufHeader) -> str:
    """Why the draft goes through text."""
    message = check_pair(target, draft)
    assert message.splitlines() == [message]
    assert "drafting through text; a draft model of the target's family would guess better" in message
    found = [line.topic for line in compare_tokens(target, draft)]
    assert "special tokens" not in found, "which token ids begin and end a text does not matter to text"
    return message


def warnings(target: GgufHeader, draft: GgufHeader) -> list[str]:
    assert check_pair(target, draft) == ""
    return [line.finding for line in compare_tokens(target, draft) if line.grade is Grade.WARNING]


def test_equal_vocabularies_are_the_same() -> None:
    assert warnings(header(), header()) == []
    assert "all 1,000 tokens are equal" in [line.finding for line in compare_tokens(header(), header())]


@pytest.mark.parametrize(("more", "less"), [(PADDING, 0), (0, PADDING), (0, -1)])
def test_vocabularies_that_differ_in_padding_are_the_same(more: int, less: int) -> None:
    padded = [f"pad{number}" for number in range(PADDING)]
    one, two = (TOKENS[: 1000 + extra] if extra < 0 else TOKENS + padded[:extra] for extra in (more, less))
    assert warnings(header(one), header(two)) == []
    found = [line.finding for line in compare_tokens(header(one), header(two))]
    assert f"equal up to {abs(more - less)} entries of padding" in found


@pytest.mark.parametrize("swap", [False, True])
def test_a_larger_difference_than_padding_is_reported_with_both_sizes(swap: bool) -> None:
    pair = [header(), header(TOKENS + [f"more{number}" for number in range(PADDING + 1)])]
    message = reason(*(reversed(pair) if swap else pair))
    assert "1000" in message
    assert str(1001 + PADDING) in message


def test_another_kind_of_tokenizer_is_named() -> None:
    assert "target's is byte-level BPE, the draft's SentencePiece" in reason(header(), header(model="llama"))
    assert "'\\x1b[31mred'" in reason(header(), header(model="\x1b[31mred"))


def test_the_first_differing_token_is_named_with_both_texts_and_escaped() -> None:
    other = [*TOKENS]
    other[500], other[700] = "line\nbreak\x1b[2J", "other"
    message = reason(header(), header(other))
    assert "from token 500 on: 't500' in the target, 'line\\nbreak\\x1b[2J' in the draft" in message
    assert "\x1b" not in message


def test_the_first_token_of_all_counts_too() -> None:
    assert "from token 0 on" in reason(header(), header(["other", *TOKENS[1:]]))


def test_a_file_without_tokens_is_rejected() -> None:
    with pytest.raises(PairError, match="lists no tokens"):
        check_pair(header(), header([]))
    with pytest.raises(PairError, match="lists no tokens"):
        check_pair(header(), header([], model="none"))


def test_what_begins_and_ends_a_text_otherwise_is_a_warning() -> None:
    assert warnings(header(), header(eos_token_id=9)) == [
        "eos is 2 in the target and 9 in the draft: the target's are used, and the draft guesses worse there"
    ]
    assert "only one of them" in warnings(header(add_bos_token=True), header())[0]
    with_bos = header(add_bos_token=True, bos_token_id=5)
    assert "bos is 5" in warnings(with_bos, header(add_bos_token=True, bos_token_id=7))[0]
    assert warnings(header(bos_token_id=5), header(bos_token_id=7)) == []


def test_another_pre_tokenizer_is_a_warning() -> None:
    assert (
        "split like 'qwen2' for the target and like 'llama-bpe'"
        in warnings(header(pre="qwen2", add_bos_token=False), header(pre="llama-bpe", add_bos_token=False))[0]
    )


def test_the_header_says_of_tokens_what_llama_cpp_says(files: EngineFiles, tmp_path: Path) -> None:
    paths = [*builtin_pair(), files.target, files.stranger, write_memory_model(tmp_path / "lfm2.gguf", "lfm2")]
    for path in paths:
        model = LlamaModel(path)
        vocabulary, read = model.vocabulary, read_model(path)
        assert (read.n_vocab, kind(read), adds_bos(read)) == (vocabulary.size, vocabulary.type, vocabulary.adds_bos)
        assert [special(read, name) for name in ("bos", "eos")] == [
            vocabulary.special["bos"],
            vocabulary.special["eos"],
        ]
        assert [read.tokens[token] for token in range(read.n_vocab)] == [
            vocabulary.text(token) for token in range(vocabulary.size)
        ]
        model.close()
