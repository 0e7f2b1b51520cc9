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


def test_a_drafter_lost_only_if_it_was_tried_enough_and_gained_on_no_kind_of_text() -> None:
    record = TrackRecord()
    assert record.lost("model") == 0
    for rounds in range(1, 41):
        record.observe("prose", "model", 1.5, 1)
        assert (record.lost("model") > 0) == (0.5 * sum(0.98**age for age in range(rounds)) >= 5)
    for _ in range(3):
        record.observe("prose", "eagle3", 6.0, 1)
    assert record.lost("eagle3") == 0, "three rounds may all have been interrupted"
    for _ in range(3):
        record.observe("code", "model", 2.0, 3)
    assert record.lost("model") == 0, "it gains on code"


def test_what_was_lost_adds_up_over_kinds_of_text() -> None:
    record = TrackRecord()
    for kind in ("prose", "code"):
        for _ in range(10):
            record.observe(kind, "model", 1.5, 1)
    lost = 2 * sum(0.5 * 0.98**age for age in range(10))
    assert record.lost("model") == pytest.approx(lost)
