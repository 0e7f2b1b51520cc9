"""What a drafter really gained replaces what was expected of it."""

from __future__ import annotations

import pytest

from specchat_engine.policy.track_record import TrackRecord


def test_a_new_drafter_gains_what_is_expected_of_it() -> None:
    record = TrackRecord()
    record.observe("prose", "model", 2.0, 1)
    assert record.gain("prose", "eagle3", 1.7) == record.gain("code", "model", 1.7) == pytest.approx(1.7)


@pytest.mark.parametrize("real", [0.6, 1.5, 3.0])
def test_a_known_one_gains_what_its_rounds_gained(real: float) -> None:
    record = TrackRecord()
    for _ in range(300):
        record.observe("prose", "model", 6 / real, 6)
    assert record.gain("prose", "model", 9.0) == pytest.approx(real, rel=0.35)
    assert abs(record.gain("prose", "model", 1.0) - real) < abs(1.0 - real)


def test_later_rounds_count_more() -> None:
    record = TrackRecord()
    for gain in (4.0, 1.0):
        for _ in range(200):
            record.observe("prose", "model", 3.0, round(3 * gain))
    assert record.gain("prose", "model", 1.0) < 1.1


def test_an_unlucky_start_is_forgiven_the_sooner_the_more_the_others_were_used() -> None:
    record = TrackRecord()
    for _ in range(3):
        record.observe("prose", "model", 2.5, 1)
    for _ in range(5):
        record.observe("prose", "eagle3", 2.0, 3)
    before = record.hope("prose", "model", 1.7)
    for _ in range(200):
        record.observe("prose", "eagle3", 2.0, 3)
    assert record.hope("prose", "model", 1.7) > before > record.gain("prose", "model", 1.7)
    assert record.hope("prose", "model", 1.7) > record.hope("prose", "eagle3", 1.5)


def test_what_was_seen_often_holds_no_surprise() -> None:
    record = TrackRecord()
    for _ in range(300):
        record.observe("prose", "model", 2.0, 2)
        record.observe("prose", "eagle3", 2.0, 3)
    assert record.hope("prose", "model", 1.0) < record.gain("prose", "eagle3", 1.5)


def test_what_was_gained_is_kept_for_the_next_start() -> None:
    record, again = TrackRecord(), TrackRecord()
    for _ in range(20):
        record.observe("prose", "model", 2.0, 5)
    again.take(record.to_json())
    assert again.gain("prose", "model", 1.0) == pytest.approx(record.gain("prose", "model", 1.0), rel=1e-3)
    for broken in ({"prose": {"model": [1.0]}}, {"prose": {"model": [-1.0, 2.0]}}, {"prose": {"model": ["inf", 1]}}):
        with pytest.raises(ValueError, match=r".+"):
            again.take(broken)
