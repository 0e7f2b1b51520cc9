"""Every kind of memory goes back to exactly what it was, and what a way back cannot do is never trusted to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.library import api
from support.memories import REACH, RECURRENT, TOKENS, WITH_SNAPSHOTS, Make, check
from support.memory_models import ARCHITECTURES, WINDOW

Step = tuple[str, int]


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("max_rows", [1, 13])
def test_each_architecture_goes_back_in_its_own_way(make: Make, name: str, max_rows: int) -> None:
    context = make(name, max_rows)
    reach = 0 if name in RECURRENT and max_rows == 1 else REACH[name]
    assert (context.can_go_back, context._rollback.reach, context.max_rows) == (True, reach, max_rows)
    assert context.tokens == []
    assert (context.busy_ns, context.rollback_ns) == (0, 0), "trying costs the first answer nothing"


STEPS = st.tuples(
    st.sampled_from(["plain", "draft", "long", "rewind", "keep", "checkpoint", "twice"]), st.integers(0, 8)
)


def apply(context: LlamaContext, step: Step, expected: list[int]) -> None:
    """Does one step to the memory and to the list of what it should hold."""
    name, number = step
    if name == "plain":
        context.advance([number], 1)
        expected.append(number)
    elif name in ("draft", "long"):
        drafted = [TOKENS[place] for place in range(number + 1 + 4 * (name == "long"))]
        context.advance(drafted, len(drafted))
        expected += drafted
    elif name == "checkpoint":
        context.checkpoint()
    elif name == "keep":
        context.keep(TOKENS[:number])
    else:
        for _ in range(2 if name == "twice" else 1):
            del expected[max(0, len(expected) - number) :]
            context.rewind(len(expected))


@pytest.mark.parametrize("name", ARCHITECTURES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=8))
@example([("plain", 1)] * 5 + [("rewind", 2)])
@example([("draft", 3), ("draft", 2), ("rewind", 3)])
@example([("draft", 8), ("twice", 2)])
@example([("draft", 1), ("long", 8), ("rewind", 8), ("checkpoint", 0), ("plain", 5), ("rewind", 1), ("rewind", 4)])
@example([("checkpoint", 0), ("draft", 4), ("rewind", 2), ("checkpoint", 0), ("draft", 4), ("twice", 3)])
@example([("checkpoint", 0), ("draft", 3), ("rewind", 4), ("rewind", 2)])
@example([("draft", 3), ("checkpoint", 0), ("rewind", 2), ("plain", 7), ("plain", 8), ("plain", 9), ("rewind", 1)])
def test_whatever_was_forgotten_leaves_no_trace(make: Make, name: str, steps: list[Step]) -> None:
    context = make(name)
    expected = list(TOKENS[:20])
    context.read(expected, lambda: False)
    for step in steps:
        apply(context, step, expected)
        if step[0] == "keep":
            assert context.tokens == expected[: len(context.tokens)]
            assert context.tokens == TOKENS[: len(context.tokens)]
            expected = list(context.tokens)
        assert context.tokens == expected
    check(context)


@pytest.mark.parametrize("name", WITH_SNAPSHOTS)
def test_a_stale_snapshot_which_llama_cpp_would_take_is_not_used(make: Make, name: str) -> None:
    context = make(name)
    context.read(TOKENS[:20], lambda: False)
    context.advance([200, 201, 202], 3)
    assert api.llama_memory_seq_rm(context._memory, 0, 20, -1), "all of a pass: llama.cpp says yes and is wrong"
    del context.tokens[20:]
    with pytest.raises(AssertionError):
        check(context)
    context.read(TOKENS[:20], lambda: False)
    context.advance([200, 201, 202], 3)
    context.rewind(20)
    check(context)


@pytest.mark.parametrize("name", RECURRENT)
def test_reading_again_what_a_roll_back_lost_counts_as_roll_back(make: Make, name: str) -> None:
    context = make(name)
    context.read(TOKENS[:20], lambda: False)
    context.advance(TOKENS[20:32], 12)
    busy, spent = context.busy_ns, context.rollback_ns
    context.rewind(25)
    assert context.busy_ns == busy
    assert context.rollback_ns > spent
    assert context.tokens == TOKENS[:25]


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize(("drafted", "kept"), [(3, 1), (8, 2), (11, 4), (12, 1)])
def test_going_back_reads_no_more_than_what_was_accepted(
    make: Make, name: str, drafted: int, kept: int, monkeypatch: Any
) -> None:
    context = make(name)
    context.read(TOKENS[:20], lambda: False)
    context.advance(TOKENS[20 : 21 + drafted], 1 + drafted)
    passes: list[int] = []
    decode = context._decode
    monkeypatch.setattr(context, "_decode", lambda tokens, rows: (passes.append(len(tokens)), decode(tokens, rows))[1])
    context.rewind(21 + kept)
    assert passes == ([] if drafted - kept <= REACH[name] else [1 + kept])
    monkeypatch.undo()
    check(context)


def test_an_ordinary_cache_saves_no_checkpoint(make: Make) -> None:
    context = make("gemma3")
    context.advance(TOKENS[:8], 8)
    context.checkpoint()
    assert (context._rollback.saved, context.rollback_ns) == (0, 0)


def test_a_window_that_was_given_up_is_read_again(make: Make, monkeypatch: Any) -> None:
    init = api.llama_init_from_model

    def with_a_small_cache(model: Any, params: Any) -> Any:
        assert params.swa_full, "asked for on purpose"
        params.swa_full = False
        return init(model, params)

    monkeypatch.setattr(api, "llama_init_from_model", with_a_small_cache)
    context = make("gemma3", n_ctx=4096)
    long = (TOKENS * 50)[:2500]
    context.read(long, lambda: False)
    assert api.llama_memory_seq_pos_min(context._memory, 0) > 100
    context.advance(TOKENS[:5], 5)
    busy = context.busy_ns
    context.rewind(2501)
    assert (context.tokens, context.busy_ns) == ([*long, TOKENS[0]], busy)
    context.rewind(100)
    assert context.tokens == long[:100]
    check(context)


def test_a_cut_within_the_window_reads_nothing_again(make: Make, monkeypatch: Any) -> None:
    context = make("gemma3")
    context.read(TOKENS, lambda: False)
    assert api.llama_memory_seq_pos_min(context._memory, 0) == 0, "the whole cache is kept"
    monkeypatch.setattr(context, "_decode", None)
    context.rewind(4 * WINDOW)
    assert context.tokens == TOKENS[: 4 * WINDOW]
