"""A context's memory is what its `tokens` say, and its logits do not depend on how they were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import Cancelled, DecodeError
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.library import api
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.testing import ScriptedModel, random_law
from support.memory_models import CLOSE

TOKENS = [40 + number % 90 for number in range(40)]


def never() -> bool:
    return False


@pytest.fixture(scope="module")
def context(model: LlamaModel) -> Iterator[LlamaContext]:
    context = LlamaContext(NativeContext(model, n_ctx=1024, max_rows=9, threads=1))
    yield context
    context.close()


@pytest.fixture(autouse=True)
def _empty(context: LlamaContext) -> None:
    context.clear()


def logits_behind(context: LlamaContext, tokens: list[int]) -> np.ndarray:
    context.clear()
    return context.advance(tokens, 1)[0].copy()


def test_rows_follow_the_last_tokens_in_order(context: LlamaContext) -> None:
    rows = context.advance(TOKENS[:6], 3).copy()
    assert rows.shape == (3, 261)
    for place, row in enumerate(rows):
        np.testing.assert_allclose(row, logits_behind(context, TOKENS[: 4 + place]), atol=CLOSE)


def test_a_rewound_tail_leaves_no_trace(context: LlamaContext) -> None:
    context.advance(TOKENS[:10], 1)
    context.advance([200, 201, 202], 3)
    context.rewind(10)
    row = context.advance(TOKENS[10:11], 1)[0].copy()
    assert context.tokens == TOKENS[:11]
    np.testing.assert_allclose(row, logits_behind(context, TOKENS[:11]), atol=CLOSE)


def test_other_threads_apply_from_the_next_pass_on(context: LlamaContext) -> None:
    context.advance(TOKENS[:1], 1)
    context.threads = 2
    context.advance(TOKENS[1:2], 1)
    assert api.llama_n_threads(context.handle) == 2
    context.threads = 1
    context.advance(TOKENS[2:3], 1)
    assert api.llama_n_threads(context.handle) == 1


def test_prompts_are_read_by_other_threads_than_those_that_check_drafts(context: LlamaContext) -> None:
    def counts() -> tuple[int, int]:
        return api.llama_n_threads(context.handle), api.llama_n_threads_batch(context.handle)

    context.threads, context.reading_threads = 1, 2
    context.read(TOKENS, never)
    assert counts() == (1, 2)
    context.advance(TOKENS[:5], 5)
    assert counts() == (1, 1)
    context.advance(TOKENS[:20], 1)
    assert counts() == (1, 1)
    context.threads = context.reading_threads = 2
    assert counts() == (1, 1)
    context.advance(TOKENS[:1], 1)
    assert counts() == (2, 2)
    context.threads = context.reading_threads = 1


def test_rewinding_to_nothing_and_beyond_the_end_are_harmless(context: LlamaContext) -> None:
    context.advance(TOKENS[:4], 0)
    context.rewind(9)
    assert context.length == 4
    context.rewind(0)
    assert context.length == 0
    np.testing.assert_allclose(context.advance(TOKENS[:2], 1)[0].copy(), logits_behind(context, TOKENS[:2]), atol=CLOSE)


def test_reading_keeps_the_common_prefix(context: LlamaContext) -> None:
    context.read(TOKENS, never)
    before = context.busy_ns
    context.read(TOKENS, never)
    assert context.busy_ns == before, "nothing was new"
    other = [*TOKENS[:20], 7, 7, 7]
    context.read(other, never)
    assert context.tokens == other
    np.testing.assert_allclose(context.advance([9], 1)[0].copy(), logits_behind(context, [*other, 9]), atol=CLOSE)


def test_a_long_prompt_is_read_in_chunks_and_can_be_cancelled_between_them(context: LlamaContext) -> None:
    long = TOKENS * 25
    asked = []

    def at_the_second() -> bool:
        asked.append(len(context.tokens))
        return len(asked) == 2

    with pytest.raises(Cancelled):
        context.read(long, at_the_second)
    step = context.attention.ubatch_size
    assert asked == [0, step]
    assert context.tokens == long[:step]
    context.read(long, never)
    assert context.tokens == long


def test_more_tokens_than_a_batch_pass_in_several(context: LlamaContext) -> None:
    long = TOKENS * 20
    row = context.advance(long, 1)[0].copy()
    context.clear()
    context.read(long[:-1], never)
    np.testing.assert_allclose(row, context.advance(long[-1:], 1)[0], atol=CLOSE)


def test_more_rows_than_reserved_is_an_error_and_not_an_abort(context: LlamaContext) -> None:
    context.advance(TOKENS[:3], 1)
    with pytest.raises(DecodeError, match="10 rows of logits were asked for, 9 are reserved"):
        context.advance(TOKENS[:10], 10)
    assert context.tokens == TOKENS[:3]


def test_a_full_context_is_an_error_that_leaves_the_memory_alone(context: LlamaContext) -> None:
    context.read([50] * 1020, never)
    with pytest.raises(DecodeError, match="1025 tokens do not fit a context of 1024: use a larger -c"):
        context.advance([1] * 5, 5)
    assert context.length == 1020
    assert np.isfinite(context.advance([1] * 4, 4)).all()


def test_nothing_to_read_is_an_error(context: LlamaContext) -> None:
    with pytest.raises(DecodeError):
        context.advance([], 0)
    assert np.isfinite(context.advance([1], 1)).all()


def test_a_token_that_does_not_exist_is_an_error_and_the_memory_stays_usable(context: LlamaContext) -> None:
    context.advance(TOKENS[:5], 1)
    for bad in ([261], [-1], [1, 261, 2], [1, -1, 2]):
        with pytest.raises(DecodeError, match=f"could not read {len(bad)} tokens at 5"):
            context.advance(bad, 1)
        assert context.tokens == TOKENS[:5]
    row = context.advance(TOKENS[5:6], 1)[0].copy()
    np.testing.assert_allclose(row, logits_behind(context, TOKENS[:6]), atol=CLOSE)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(["advance", "rewind", "keep", "read"]), st.integers(0, 30)), max_size=12))
def test_the_memory_does_what_the_scripted_models_does(context: LlamaContext, steps: list[tuple[str, int]]) -> None:
    context.clear()
    scripted = ScriptedModel(random_law(261), capacity=1024, max_rows=9)
    for name, number in steps:
        for memory in (context, scripted):
            if name == "advance":
                memory.advance([number + 40, number + 41], number % 3)
            elif name == "rewind":
                memory.rewind(number)
            elif name == "keep":
                memory.keep(TOKENS[:number])
            else:
                memory.read(TOKENS[:number], never)
        assert context.tokens == scripted.tokens
        assert context.length == scripted.length
    held = list(context.tokens)
    row = context.advance([99], 1)[0].copy()
    np.testing.assert_allclose(row, logits_behind(context, [*held, 99]), atol=CLOSE)


def test_time_counts_only_in_passes(context: LlamaContext) -> None:
    before = context.busy_ns
    context.keep([1])
    context.clear()
    assert context.busy_ns == before
    context.advance([1], 1)
    assert context.busy_ns > before


def test_a_closed_context_rejects_to_work(model: LlamaModel, tmp_path: Path) -> None:
    context = LlamaContext(NativeContext(model, n_ctx=256, max_rows=2, threads=1))
    context.advance([1, 2], 1)
    context.close()
    context.close()
    context.clear()
    context.rewind(0)
    context.keep([1])
    for work in (
        lambda: context.advance([1], 1),
        lambda: context.state_bytes,
        lambda: context.save(tmp_path / "state"),
        lambda: context.restore(tmp_path / "state"),
    ):
        with pytest.raises(DecodeError, match="was closed"):
            work()
