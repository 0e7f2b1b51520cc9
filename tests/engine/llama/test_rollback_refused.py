"""A way back that is refused, or that lies, is found out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specchat_engine import DecodeError, Engine, LoadOptions, PairError
from specchat_engine.llama import context as module
from specchat_engine.llama.library import api
from specchat_engine.llama.rollback import SNAPSHOTS, Rollback
from support.memories import REACH, RECURRENT, TOKENS, WITH_SNAPSHOTS, Make, check
from support.memory_models import ARCHITECTURES


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_refused_roll_back_is_an_error_and_empties_the_memory(make: Make, name: str, monkeypatch: Any) -> None:
    context = make(name)
    context.advance(TOKENS[:8], 1)
    context.advance(TOKENS[8:12], 4)
    monkeypatch.setattr(api, "llama_memory_seq_rm", lambda *_: False)
    with pytest.raises(DecodeError, match="cannot forget back to 10 tokens"):
        context.rewind(10)
    assert context.tokens == []
    context.advance(TOKENS[:10], 1)
    check(context)


@pytest.mark.parametrize("name", RECURRENT)
def test_a_checkpoint_that_is_refused_is_an_error_and_empties_the_memory(
    make: Make, name: str, monkeypatch: Any
) -> None:
    context = make(name)
    context.advance(TOKENS[:8], 1)
    context.checkpoint()
    context.advance(TOKENS[8:12], 4)
    monkeypatch.setattr(api, "llama_state_seq_set_data_ext", lambda *_: 0)
    with pytest.raises(DecodeError, match="cannot forget back to 8 tokens"):
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

    real = module.decode
    monkeypatch.setattr(module, "decode", failing)
    with pytest.raises(DecodeError, match=f"code {code}"):
        context.advance(TOKENS[8:11], 1)
    monkeypatch.setattr(module, "decode", real)
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
def test_cuts_that_lie_are_found_out_at_load(make: Make, name: str, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch:
        lying("cuts", patch)
        context = make(name)
    assert (context.can_go_back, context._rollback.reach) == (True, 0)
    context.advance(TOKENS[:8], 1)
    context.advance(TOKENS[8:12], 4)
    context.rewind(9)
    check(context)


@pytest.mark.parametrize("name", RECURRENT)
def test_checkpoints_that_lie_are_found_out_at_load(make: Make, name: str, monkeypatch: Any) -> None:
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


def test_a_draft_model_that_cannot_go_back_is_refused(memory_paths: dict[str, Path], monkeypatch: Any) -> None:
    lying("checkpoints", monkeypatch)
    with pytest.raises(PairError, match=r"mamba2.gguf cannot draft: .* use another draft model, or lookup"):
        Engine.load(memory_paths["gemma3"], memory_paths["mamba2"], LoadOptions(n_ctx=512, threads=1))
