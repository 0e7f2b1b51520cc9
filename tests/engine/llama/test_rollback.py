"""Every kind of memory goes back to exactly what it was, and what a way back cannot do is never trusted to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from specchat_engine import DecodeError, Engine, LoadOptions, PairError
from specchat_engine.architectures import SNAPSHOTS
from specchat_engine.llama.batch import PassPart
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.library import api
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.llama.rollback import Rollback
from support.memory_models import (
    ARCHITECTURES,
    CLOSE,
    REACH,
    RECURRENT,
    TOKENS,
    WINDOW,
    WITH_SNAPSHOTS,
    Make,
    check,
    write_memory_model,
)

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
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    assert api.llama_memory_seq_rm(api.llama_get_memory(context.handle), 0, 20, -1), (
        "all of a pass: llama.cpp says yes and is wrong"
    )
    del context.tokens[20:]
    with pytest.raises(AssertionError):
        check(context)
    context.read(TOKENS[:20], lambda: False)
    context.advance([200, 201, 202], 3)
    context.rewind(20)
    check(context)


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("name", WITH_SNAPSHOTS)
def test_a_text_goes_back_although_a_pass_over_others_has_moved_its_state(
    make: Make, tmp_path: Path, name: str, count: int
) -> None:
    """llama.cpp gathers the states that a pass reads, and does not move the snapshots of those between them."""
    model, texts = LlamaModel(write_memory_model(tmp_path / "model.gguf", name)), list[LlamaContext]()
    native = NativeContext(model, n_ctx=256, max_rows=5, threads=1, texts=count)
    for place in range(count):
        LlamaContext(native, texts).read(TOKENS[place : place + 20], lambda: False)
    text = texts[1]
    text.advance([200, 201, 202, 203], 4)
    native.compute([PassPart.chain([99], 20, 1, place) for place in {0, count - 1} - {1}])
    text.rewind(21)
    row, alone = text.advance([99], 1)[0], make(name)
    np.testing.assert_allclose(row, alone.advance([*TOKENS[1:21], 200, 99], 1)[0], atol=CLOSE)
    native.close()
    model.close()


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
    assert api.llama_memory_seq_pos_min(api.llama_get_memory(context.handle), 0) > 100
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
    assert api.llama_memory_seq_pos_min(api.llama_get_memory(context.handle), 0) == 0, "the whole cache is kept"
    monkeypatch.setattr(context, "_decode", None)
    context.rewind(4 * WINDOW)
    assert context.tokens == TOKENS[: 4 * WINDOW]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_rejected_roll_back_is_an_error_and_empties_the_memory(make: Make, name: str, monkeypatch: Any) -> None:
    context = make(name)
    context.advance(TOKENS[:8], 1)
    context.advance(TOKENS[8:12], 4)
    monkeypatch.setattr(api, "llama_memory_seq_rm", lambda *_: False)
    with pytest.raises(DecodeError, match="cannot go back to 10 tokens"):
        context.rewind(10)
    assert context.tokens == []
    context.advance(TOKENS[:10], 1)
    check(context)


@pytest.mark.parametrize("name", RECURRENT)
def test_a_checkpoint_that_is_rejected_is_an_error_and_empties_the_memory(
    make: Make, name: str, monkeypatch: Any
) -> None:
    context = make(name)
    context.advance(TOKENS[:8], 1)
    context.checkpoint()
    context.advance(TOKENS[8:12], 4)
    monkeypatch.setattr(api, "llama_state_seq_set_data_ext", lambda *_: 0)
    with pytest.raises(DecodeError, match="cannot go back to 8 tokens"):
        context.rewind(8)
    assert context.tokens == []


@pytest.mark.parametrize("code", [1, 2, -3])
@pytest.mark.parametrize("name", RECURRENT)
def test_a_failed_pass_leaves_no_half_read_state(make: Make, name: str, code: int, monkeypatch: Any) -> None:
    context = make(name)
    context.advance(TOKENS[:8], 1)

    def failing(pointer: Any, batch: Any) -> int:
        real(pointer, batch)
        return code

    real = api.llama_decode
    monkeypatch.setattr(api, "llama_decode", failing)
    with pytest.raises(DecodeError, match=f"code {code}"):
        context.advance(TOKENS[8:11], 1)
    monkeypatch.setattr(api, "llama_decode", real)
    assert context.tokens == []
    check(context)


def test_a_checkpoint_that_cannot_be_saved_is_an_error(make: Make, monkeypatch: Any) -> None:
    context = make("mamba2")
    context.advance(TOKENS[:8], 1)
    monkeypatch.setattr(api, "llama_state_seq_get_data_ext", lambda *_: 0)
    with pytest.raises(DecodeError, match="could not save a checkpoint at 8 tokens"):
        context.advance(TOKENS[8:11], 3)
    assert context.tokens == TOKENS[:8]


def lying(way: str, monkeypatch: Any) -> None:
    """Makes cuts (but not that of everything), or checkpoints, succeed without doing anything."""
    real = Rollback.cut
    if way == "cuts":
        monkeypatch.setattr(Rollback, "cut", lambda rollback, length: bool(length) or real(rollback, length))
    else:
        monkeypatch.setattr(api, "llama_state_seq_set_data_ext", lambda _handle, _state, size, *_: size)


@pytest.mark.parametrize("name", [*WITH_SNAPSHOTS, "gemma3"])
def test_cuts_that_do_not_work_are_found_at_load(make: Make, name: str, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        lying("cuts", patch)
        context = make(name)
    assert (context.can_go_back, context._rollback.reach) == (True, 0)
    context.advance(TOKENS[:8], 1)
    context.advance(TOKENS[8:12], 4)
    context.rewind(9)
    check(context)


@pytest.mark.parametrize("name", RECURRENT)
def test_checkpoints_that_do_not_work_are_found_at_load(make: Make, name: str, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        lying("checkpoints", patch)
        context = make(name)
    assert not context._rollback.has_checkpoints
    assert (context.can_go_back, context.max_rows) == ((True, SNAPSHOTS + 1) if REACH[name] else (False, 13))
    context.advance(TOKENS[:8], 1)
    context.advance(TOKENS[8:12], 4)
    context.rewind(9)
    context.rewind(7)
    check(context)


def test_a_position_that_moves_without_the_state_is_found_out_at_load(make: Make, monkeypatch: Any) -> None:
    def move(memory: Any, length: int) -> None:
        api.llama_memory_seq_add(memory, 0, 0, -1, length - 1 - api.llama_memory_seq_pos_max(memory, 0))

    real = Rollback.cut

    def cut(rollback: Rollback, length: int) -> bool:
        move(rollback._memory, length)
        return bool(length) or real(rollback, length)

    def restore(rollback: Rollback) -> bool:
        return cut(rollback, rollback.saved)

    with monkeypatch.context() as patch:
        patch.setattr(Rollback, "cut", cut)
        assert make("mamba2")._rollback.reach == 0
        patch.setattr(Rollback, "restore", restore)
        context = make("mamba2")
    assert not context.can_go_back


def test_a_target_that_cannot_go_back_decodes_plainly_and_says_why(
    memory_paths: dict[str, Path], monkeypatch: Any
) -> None:
    lying("checkpoints", monkeypatch)
    with Engine.load(memory_paths["mamba2"], options=LoadOptions(n_ctx=512, threads=1)) as engine:
        assert "cannot take back drafted tokens" in engine.plain_because
        session = engine.session(seed=1)
        first = next(iter(session.generate("hello")))
        assert (first.drafted, first.reason) == ((), engine.plain_because)


def test_a_draft_model_that_cannot_go_back_is_rejected(memory_paths: dict[str, Path], monkeypatch: Any) -> None:
    lying("checkpoints", monkeypatch)
    with pytest.raises(PairError, match=r"mamba2.gguf cannot draft: .* use another draft model, or lookup"):
        Engine.load(memory_paths["gemma3"], memory_paths["mamba2"], LoadOptions(n_ctx=512, threads=1))
