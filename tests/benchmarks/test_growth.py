"""A model that was grown says what the small one says, at the size that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import llama_cpp
import numpy as np
import pytest
from gguf.quants import dequantize

from benchmarks.growth import Growth, Shape, choose_shape
from benchmarks.growth_writer import read_source, write_grown, write_grown_head
from specchat_engine import Engine, LoadOptions, Settings
from specchat_engine.errors import SettingError
from specchat_engine.gguf import read_model
from specchat_engine.llama.machine import may_repack
from specchat_engine.llama.model import LlamaModel
from support.conversations import GREEDY
from support.heads import random_eagle
from support.quantise import quantise
from support.tiny_models import TEMPLATE, write_tiny_model

IDS = [5, 200, 17, 3, 3, 251, 40, 99, 120]
VOCABULARY = 261
PADDED = 1000
WISHES: dict[str, dict[str, int]] = {
    "deeper": {"layers": 5},
    "more query heads": {"heads": 8},
    "more heads of both kinds": {"heads": 12, "kv_heads": 3},
    "padded": {"width": 512, "vocabulary": PADDED},
    "all": {"width": 512, "layers": 3, "heads": 12, "kv_heads": 3, "feed_forward": 768, "vocabulary": PADDED},
}
ALL = WISHES["all"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with embeddings so small that the norms' epsilon, and what is paid from it, is felt."""
    return write_tiny_model(tmp_path_factory.mktemp("small") / "small.gguf", width=256, sharpness=0.003)


@pytest.fixture(scope="module")
def expected(small: Path) -> np.ndarray:
    """Its logits, computed in F32 throughout."""
    quantise(small, small.with_suffix(".f32"), "F32")
    return logits(small.with_suffix(".f32"))


def grow(
    path: Path, source: Path, wish: dict[str, int], precision: Any = "F32", seed: int = 1, noise: float = 0.0
) -> Growth:
    opened = read_source(source)
    growth = Growth(opened.shape, replace(opened.shape, **wish), opened.epsilon, seed, noise)
    write_grown(path, opened, growth, precision, "grown")
    return growth


@pytest.mark.parametrize("wish", WISHES)
def test_a_grown_model_computes_the_small_ones_logits(
    tmp_path: Path, small: Path, expected: np.ndarray, wish: str
) -> None:
    growth = grow(tmp_path / "grown.gguf", small, WISHES[wish])
    found = logits(tmp_path / "grown.gguf")
    assert found.shape[1] == growth.large.vocabulary
    np.testing.assert_allclose(found[:, :VOCABULARY], expected, rtol=0, atol=3e-6 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["BF16", "Q4_K_M"])
def test_a_grown_model_in_another_type_is_off_by_that_type_alone(
    tmp_path: Path, small: Path, expected: np.ndarray, kind: str
) -> None:
    quantise(small, tmp_path / "small.gguf", kind)
    grow(tmp_path / "grown.gguf", small, ALL, kind)
    error = np.abs(logits(tmp_path / "small.gguf") - expected).max()
    assert np.abs(logits(tmp_path / "grown.gguf")[:, :VOCABULARY] - expected).max() <= error * 1.2


@pytest.mark.parametrize(("kind", "sharpness"), [("F16", 0.003), ("Q2_K", 1.0), ("Q4_K_M", 0.003), ("Q8_0", 1.0)])
def test_new_tokens_have_far_lower_logits_than_all_others_in_every_type(
    tmp_path: Path, kind: str, sharpness: float
) -> None:
    write_tiny_model(tmp_path / "small.gguf", width=256, sharpness=sharpness)
    grow(tmp_path / "whole.gguf", tmp_path / "small.gguf", {"width": 512, "vocabulary": PADDED}, "F16")
    quantise(tmp_path / "whole.gguf", tmp_path / "grown.gguf", kind)
    found = logits(tmp_path / "grown.gguf")
    assert np.isfinite(found).all()
    assert found[:, VOCABULARY:].max() < found[:, :VOCABULARY].min() - 1000


def test_a_grown_pair_says_what_the_small_pair_says_and_accepts_as_much(tmp_path: Path) -> None:
    target = write_tiny_model(tmp_path / "target.gguf", seed=1, width=256, sharpness=0.1)
    draft = write_tiny_model(tmp_path / "draft.gguf", seed=2, like=1, width=256, layers=1, sharpness=0.1)
    grow(tmp_path / "large.gguf", target, ALL, "F16")
    grow(tmp_path / "little.gguf", draft, {"width": 512, "layers": 2, "vocabulary": PADDED}, "F16")
    answers = []
    for pair in ((target, draft), (tmp_path / "large.gguf", tmp_path / "little.gguf")):
        with Engine.load(*pair, LoadOptions(n_ctx=256, threads=1)) as engine:
            session = engine.session(settings=Settings(k=3, drafter="model", sampling=GREEDY, max_tokens=24), seed=5)
            rounds = list(session.generate("hello there"))
            answers.append((session.text, [[token.id for token in one.drafted] for one in rounds]))
    assert answers[0] == answers[1]
    assert len(answers[0][1]) > 5


def test_a_mixture_computes_the_small_ones_logits_whatever_its_router_chooses(
    tmp_path: Path, small: Path, expected: np.ndarray
) -> None:
    growth = grow(tmp_path / "grown.gguf", small, {"width": 512, "layers": 3, "experts": 6, "used": 2})
    np.testing.assert_allclose(logits(tmp_path / "grown.gguf"), expected, rtol=0, atol=3e-6 * np.abs(expected).max())
    model = LlamaModel(tmp_path / "grown.gguf")
    assert (model.n_params, model.header.experts) == (growth.large.parameters, 6)
    model.close()


def test_noise_makes_a_model_guess_worse_the_more_there_is(tmp_path: Path, small: Path, expected: np.ndarray) -> None:
    agreement = []
    for noise in (0.0, 0.3, 3.0):
        grow(tmp_path / "grown.gguf", small, {"width": 512}, noise=noise)
        agreement.append(np.corrcoef(logits(tmp_path / "grown.gguf").ravel(), expected.ravel())[0, 1])
    assert agreement[0] > 0.9999 > agreement[1] > agreement[2]


def test_what_is_new_is_as_costly_to_store_as_real_weights_and_what_is_not_a_size_stays_as_it_was(
    tmp_path: Path, small: Path
) -> None:
    grow(tmp_path / "grown.gguf", small, ALL)
    reader = gguf.GGUFReader(tmp_path / "grown.gguf")
    old = {tensor.name: tensor for tensor in gguf.GGUFReader(small).tensors}
    for tensor in reader.tensors:
        kind = tensor.name.split(".")[-2]
        if kind in ("attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up"):
            like = old[f"blk.0.{kind}.weight"]
            spread = dequantize(like.data, like.tensor_type).std()
            assert tensor.data.std(axis=0) == pytest.approx(spread, rel=0.35)
            assert tensor.data.std(axis=1) == pytest.approx(spread, rel=0.35)
    before = read_source(small).metadata()
    after = read_source(tmp_path / "grown.gguf").metadata()
    changed = {key for key in before if before[key] != after[key]}
    assert after["tokenizer.chat_template"][0] == TEMPLATE
    assert after["general.name"][0] == "grown"
    names = {"general.name", "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"}
    assert {key for key in changed if not key.startswith("llama.")} == names
    tokens, kinds = (reader.get_field(f"tokenizer.ggml.{key}").contents() for key in ("tokens", "token_type"))
    assert tokens[:VOCABULARY] == before["tokenizer.ggml.tokens"][0]
    assert len(set(tokens)) == len(kinds) == PADDED
    assert set(kinds[VOCABULARY:]) == {gguf.TokenType.UNUSED}


def test_llama_cpp_counts_the_promised_parameters_and_new_tokens_have_no_text(tmp_path: Path, small: Path) -> None:
    growth = grow(tmp_path / "grown.gguf", small, ALL)
    model = LlamaModel(tmp_path / "grown.gguf")
    assert model.n_params == growth.large.parameters
    vocabulary = model.vocabulary
    assert vocabulary.size == PADDED
    assert {vocabulary.piece(token) for token in range(VOCABULARY, PADDED)} == {b""}
    for special in (False, True):
        assert max(vocabulary.tokenize(vocabulary.text(PADDED - 1), special=special)) < VOCABULARY
    assert max(vocabulary.ends) < VOCABULARY
    model.close()


def test_a_grown_model_grows_on(tmp_path: Path, small: Path, expected: np.ndarray) -> None:
    grow(tmp_path / "once.gguf", small, {"width": 512, "vocabulary": PADDED})
    grow(tmp_path / "twice.gguf", tmp_path / "once.gguf", {"width": 768, "layers": 3, "vocabulary": PADDED + 9})
    found = logits(tmp_path / "twice.gguf")
    np.testing.assert_allclose(found[:, :VOCABULARY], expected, rtol=0, atol=3e-6 * np.abs(expected).max())
    assert found[:, VOCABULARY:].max() < -1000


def test_a_seed_decides_every_byte(tmp_path: Path, small: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        grow(tmp_path / name, small, {"heads": 8}, "Q8_0", seed)
    one, again, other = ((tmp_path / name).read_bytes() for name in ("one", "again", "other"))
    assert one == again
    assert one != other


def test_a_head_that_was_grown_with_its_target_drafts_the_same(small: Path, tmp_path: Path) -> None:
    head, large, large_head = (tmp_path / name for name in ("head.gguf", "large.gguf", "large-head.gguf"))
    random_eagle(head, small, layers=(0, 1, 1))
    growth = grow(large, small, {"width": 512, "layers": 3, "heads": 8})
    write_grown_head(large_head, head, growth, "F32")
    drafted: list[dict[int, list[int]]] = []
    for target, drafts in ((small, head), (large, large_head)):
        with Engine.load(target, drafts, LoadOptions(threads=1, flash_attention="off")) as engine:
            session = engine.session(settings=Settings(drafter="eagle3", k=3, max_tokens=40, sampling=GREEDY), seed=1)
            drafted.append({})
            for event in session.generate("Hello"):
                drafted[-1][session.stats.num_tokens] = [token.id for token in event.drafted]
    common = drafted[0].keys() & drafted[1].keys()
    assert len(common) > 15
    near_ties = sum(drafted[0][place] != drafted[1][place] for place in common)
    assert near_ties < 0.1 * len(common), "rounding decides between equally likely tokens, which is rare"


def logits(path: Path, ids: Sequence[int] = IDS) -> np.ndarray:
    """A row for each token [tokens, vocabulary]; keys and values in F32, so that only the weights' type counts."""
    how = llama_cpp.llama_model_default_params()
    how.use_extra_bufts = may_repack(read_model(path))
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), how)
    params = llama_cpp.llama_context_default_params()
    params.n_ctx, params.type_k, params.type_v, params.flash_attn_type = 256, 0, 0, 0
    context = llama_cpp.llama_init_from_model(model, params)
    batch = llama_cpp.llama_batch_init(len(ids), 0, 1)
    try:
        for place, token in enumerate(ids):
            batch.token[place], batch.pos[place], batch.logits[place] = token, place, 1
            batch.n_seq_id[place], batch.seq_id[place][0] = 1, 0
        batch.n_tokens = len(ids)
        assert llama_cpp.llama_decode(context, batch) == 0
        size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
        return np.ctypeslib.as_array(llama_cpp.llama_get_logits(context), (len(ids), size)).copy()
    finally:
        llama_cpp.llama_batch_free(batch)
        llama_cpp.llama_free(context)
        llama_cpp.llama_model_free(model)


GUIDE = Shape(4096, width=512, layers=6, heads=8, kv_heads=2, head_width=64, feed_forward=1280)
DRAFT = Shape(4096, width=256, layers=2, heads=4, kv_heads=2, head_width=64, feed_forward=320)


@pytest.mark.parametrize("vocabulary", [4096, 152_000])
@pytest.mark.parametrize("wanted", [400_000_000, 1_500_000_000])
def test_a_size_becomes_a_shape_of_usual_proportions(wanted: int, vocabulary: int) -> None:
    shape = choose_shape(GUIDE, wanted, vocabulary)
    assert shape.parameters == pytest.approx(wanted, rel=0.02)
    assert 16 <= shape.layers <= 48
    assert 768 <= shape.width <= 2048
    assert 2.5 <= shape.feed_forward / shape.width <= 4.5
    assert shape.heads * shape.head_width == shape.width


@pytest.mark.parametrize(("share", "vocabulary"), [(0.03, 12_000), (0.1, 4096)])
def test_a_draft_gets_its_share(share: float, vocabulary: int) -> None:
    shape = choose_shape(DRAFT, round(500_000_000 * share), vocabulary)
    assert shape.parameters == pytest.approx(500_000_000 * share, rel=0.05)


@pytest.mark.parametrize(
    ("wanted", "vocabulary", "complaint"),
    [
        (10_000_000, 4096, "no model of 10,000,000 parameters .* the nearest has 17,832,448"),
        (25_000_000, 152_000, "with 152,000 tokens: the nearest has"),
        (500_000_000, 100, "a vocabulary of 100"),
    ],
)
def test_a_size_that_nothing_has_is_rejected(wanted: int, vocabulary: int, complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint):
        choose_shape(GUIDE, wanted, vocabulary)
