"""Figures of turns add up by session, pair and kind of content, and say what is usual for a pair."""

from __future__ import annotations

import json
import zlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.errors import StoreError
from specchat.store import Counters, Store, Totals, new_id
from specchat_engine.decoding.stats import TurnStats
from support.stored import begun, said


def turn(accepted: int = 6, rejected: int = 2, **others: Any) -> dict[str, Any]:
    """What the last line of a trace says of a turn of 10 rounds."""
    stats = TurnStats(
        num_tokens=accepted + 10,
        num_rounds=10,
        num_drafts=8,
        num_draft_tokens=accepted + rejected + 4,
        num_accepted_tokens=accepted,
        num_rejected_tokens=rejected,
        draft_ms=10.0,
        verify_ms=70.0,
        rollback_ms=15.0,
        other_ms=5.0,
        plain_ms=8.0,
    )
    return stats.to_json() | others


def answered(store: Store, session: int, pair: str, stats: dict[str, Any], at: float = 1.0) -> int:
    message = said(store, session, "answer", role="assistant")
    store.keep_stats(message, pair, stats, at)
    return message


def test_a_turn_is_counted_from_the_last_line_of_its_trace() -> None:
    counters = Counters.of_turn(turn())
    assert counters == Counters(
        num_turns=1,
        num_tokens=16,
        num_rounds=10,
        num_draft_tokens=12,
        num_accepted_tokens=6,
        num_rejected_tokens=2,
        decode_ms=100.0,
        compared_ms=100.0,
        plain_ms=pytest.approx(16 * 8.0 + 5.0),
    )
    assert counters.alpha == 0.75
    assert counters.acceptance_rate == 0.5
    assert counters.block_efficiency == 1.6
    assert counters.tokens_per_second == 160
    assert counters.speedup == pytest.approx(1.33)


@given(accepted=st.integers(0, 100_000), rejected=st.integers(0, 100_000))
def test_rejected_tokens_follow_from_alpha(accepted: int, rejected: int) -> None:
    stats = TurnStats(num_drafts=rejected, num_accepted_tokens=accepted, num_rejected_tokens=rejected)
    assert Counters.of_turn(stats.to_json()).num_rejected_tokens == rejected


def test_a_turn_without_drafts_or_comparison_counts_no_more_than_it_knows() -> None:
    known, unknown = Counters.of_turn(turn()), Counters.of_turn(turn(speedup=None))
    assert (known + unknown).speedup == known.speedup
    assert (known + unknown).decode_ms == 200
    counters = Counters.of_turn(turn(0, 0, num_draft_tokens=0, num_drafts=0, speedup=None))
    assert (counters.alpha, counters.acceptance_rate, counters.speedup) == (None, None, None)
    assert Counters.of_turn({}) == Counters(num_turns=1)


def test_totals_are_of_a_session_of_a_pair_of_both_or_of_all(store: Store) -> None:
    one, two = begun(store), begun(store)
    answered(store, one, "a", turn(6, 2))
    answered(store, one, "b", turn(10, 0))
    answered(store, two, "a", turn(0, 8))
    every = [Counters.of_turn(turn(*counts)) for counts in ((6, 2), (10, 0), (0, 8))]
    assert store.totals() == Totals(sum(every, Counters()), {})
    assert store.totals(session=one).whole == every[0] + every[1]
    assert store.totals(pair="a").whole == every[0] + every[2]
    assert store.totals("a", one).whole == every[0]
    assert store.totals("nobody") == Totals(Counters(), {})


def test_kinds_of_content_add_up_beside_the_whole(store: Store) -> None:
    session = begun(store)
    for _ in range(2):
        answered(store, session, "a", turn(kinds={"code": turn(4, 0), "prose": turn(2, 2)}))
    totals = store.totals()
    assert totals.whole.num_turns == 2
    assert totals.whole.num_accepted_tokens == 12
    assert {kind: counters.alpha for kind, counters in totals.kinds.items()} == {"code": 1.0, "prose": 0.5}


def test_figures_kept_again_take_the_place_of_the_first(store: Store) -> None:
    message = answered(store, begun(store), "a", turn(kinds={"code": turn()}))
    store.keep_stats(message, "a", turn(1, 1, note="again"))
    assert store.totals() == Totals(Counters.of_turn(turn(1, 1)), {})
    kept = store.stats(message)
    assert kept is not None
    assert kept["note"] == "again"
    assert store.stats(new_id()) is None
    with pytest.raises(StoreError, match="no such message"):
        store.keep_stats(new_id(), "a", turn())


def test_turns_and_pairs_begin_with_the_last(store: Store) -> None:
    session = begun(store)
    first = answered(store, session, "a", turn(1, 0), at=1.0)
    second = answered(store, session, "b", turn(2, 0), at=2.0)
    third = answered(store, session, "a", turn(3, 0), at=3.0)
    assert [one.message for one in store.turns()] == [third, second, first]
    assert [one.message for one in store.turns("a", session, limit=1)] == [third]
    assert store.turns(pair="b")[0].counters == Counters.of_turn(turn(2, 0))
    assert [*store.pairs()] == ["a", "b"]
    assert store.pairs()["a"].num_turns == 2


def test_every_counter_is_kept_and_outlives_the_conversation(store: Store) -> None:
    session = begun(store)
    answered(store, session, "a", turn())
    assert all(getattr(store.turns()[0].counters, field.name) for field in fields(Counters))
    store.delete(session)
    store.purge(-10.0)
    assert store.totals("a").whole == Counters.of_turn(turn())


LINES = [json.dumps({"type": "round", "index": index, "text": "é\u2028\n"}, ensure_ascii=False) for index in range(500)]


def test_a_trace_comes_back_line_by_line_and_takes_little_space(store: Store, path: Path) -> None:
    answer = said(store, begun(store), "answer")
    store.keep_trace(answer, LINES)
    assert store.trace(answer) == LINES
    row = store._first("SELECT length(lines) FROM traces")
    assert row is not None
    assert row[0] < sum(map(len, LINES)) / 5
    store.keep_trace(answer, ["{}"])
    assert store.trace(answer) == ["{}"], "one that is kept again takes the place of the first"
    store.keep_trace(answer, [line + "\n" for line in LINES])
    assert store.trace(answer) == LINES, "lines as a file holds them"


def test_an_answer_without_a_trace_has_none(store: Store) -> None:
    assert store.trace(said(store, begun(store), "answer")) is None
    with pytest.raises(StoreError):
        store.keep_trace(new_id(), ["{}"])


@pytest.mark.parametrize("damage", [b"\0\0", zlib.compress(b"\xff")])
def test_a_damaged_trace_is_reported_in_one_line(store: Store, damage: bytes) -> None:
    answer = said(store, begun(store), "answer")
    store.keep_trace(answer, LINES)
    store._run("UPDATE traces SET lines = ?", (damage,))
    with pytest.raises(StoreError, match="is damaged") as caught:
        store.trace(answer)
    assert "\n" not in str(caught.value)
