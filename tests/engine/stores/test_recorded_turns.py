"""Turns with what the target thought: kept in a ring, whole or not at all, and equal to what the target would say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine import SamplingParams
from specchat_engine.decoding.recorder import TurnRecorder
from specchat_engine.stores import RecordedTurn, TurnBuffer
from specchat_engine.stores.recorded_turns import KEPT, likeliest
from support.conversations import conversation, letters


def turn(length: int = 10, *, first: int = 0, kind: str = "code") -> RecordedTurn:
    """A turn with a prompt of 4 tokens."""
    best = np.tile(np.arange(KEPT, dtype=np.int32), (length - 4, 1))
    return RecordedTurn(np.arange(first, first + length, dtype=np.int32), 4, best, best.astype(np.float16) * -1, kind)


def test_turns_come_back_as_they_were_the_oldest_first(tmp_path: Path) -> None:
    book = TurnBuffer(tmp_path / "turns")
    assert [*book.turns()] == []
    for first in (0, 100):
        book.add(turn(first=first))
    found = [*book.turns()]
    assert [one.ids[0] for one in found] == [0, 100]
    assert found[0].kind == "code"
    np.testing.assert_array_equal(found[0].best, turn().best)
    assert book.num_tokens == 20
    book.clear()
    assert [*book.turns()] == []


def test_the_oldest_turns_go_when_there_are_too_many_tokens(tmp_path: Path) -> None:
    book = TurnBuffer(tmp_path, most=25)
    for first in range(0, 500, 100):
        book.add(turn(first=first))
    assert [one.ids[0] for one in book.turns()] == [300, 400]
    assert book.num_tokens <= 25


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 no archive", b"\x00" * 64])
def test_a_damaged_turn_is_passed_over(tmp_path: Path, damage: bytes) -> None:
    book = TurnBuffer(tmp_path)
    book.add(turn())
    book.add(turn(first=100))
    next(iter(sorted(tmp_path.glob("*.npz")))).write_bytes(damage)
    assert [one.ids[0] for one in book.turns()] == [100]
    (tmp_path / ".1.unfinished").write_bytes(b"a kill left this")
    assert book.num_tokens == 20


@given(st.integers(0, 1000), st.integers(3, 1000), st.sampled_from((3, KEPT)))
def test_the_likeliest_tokens_are_those_with_the_largest_logits(seed: int, n_vocab: int, count: int) -> None:
    logits = np.random.default_rng(seed).normal(0, 3, (5, n_vocab)).astype(np.float32)
    best, log_p = likeliest(logits, count)
    kept = min(count, n_vocab)
    assert best.shape == log_p.shape == (5, kept)
    for row, ids, said in zip(logits, best, log_p, strict=True):
        np.testing.assert_array_equal(ids, np.argsort(-row, kind="stable")[:kept])
        probabilities = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
        np.testing.assert_allclose(np.exp(said.astype(float)), probabilities[ids], atol=2e-3)


@pytest.mark.parametrize("settings", [{"k": 4}, {"k": 3, "tree": 3}, {"k": 0}])
def test_what_is_recorded_is_what_the_target_thought_after_each_token(settings: dict[str, int]) -> None:
    law = letters(3, order=2)
    sampling = SamplingParams(temperature=0.8)
    session = conversation(law, letters(4, order=2), sampling=sampling, max_tokens=50, **settings)
    session.watch = recorder = TurnRecorder()
    list(session.generate("hello"))
    recorded = recorder.turn(session.prompt_ids, session.answer_ids)
    assert recorded is not None
    assert recorded.ids.tolist() == [*session.prompt_ids, *session.answer_ids]
    for place, best in enumerate(recorded.best):
        row = law(tuple(recorded.ids[: recorded.prompt_length + place].tolist()))
        assert best[0] == row.argmax()
    assert len(recorded.best) == len(session.answer_ids)


def test_an_answer_without_tokens_is_no_turn() -> None:
    assert TurnRecorder().turn([1, 2], []) is None
