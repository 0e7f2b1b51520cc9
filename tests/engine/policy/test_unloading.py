"""While memory is short, the draft model goes that lost most; none that pays, is new or was asked for."""

from __future__ import annotations

import pytest

from specchat_engine.policy.unloading import Gains, draft_to_unload

GB = 10**9
SIZES = {"model": GB, "model-2": GB, "model-3": 2 * GB}


def record(**took: float) -> Gains:
    """A record in which each round of these drafters emitted one token in the time of so many plain rounds."""
    seen = Gains()
    for name, plain_rounds in took.items():
        for _ in range(60):
            seen.observe("prose", name.replace("_", "-"), plain_rounds, 1)
    return seen


def seldom(_: str) -> float:
    """How much is accepted of a draft model that knows another kind of text."""
    return 0.2


def unloaded(seen: Gains, free: float = 0.0, asked: str = "") -> str | None:
    return draft_to_unload(int(free * GB), 16 * GB, SIZES, seen, seldom, asked)


def test_the_one_that_lost_most_goes() -> None:
    seen = record(model=1.2, model_2=1.8, model_3=1.4)
    assert unloaded(seen) == "model-2"
    assert draft_to_unload(0, 16 * GB, {name: SIZES[name] for name in ("model", "model-3")}, seen, seldom) == "model-3"


@pytest.mark.parametrize(("free", "goes"), [(0.0, True), (0.79, True), (0.81, False), (15.0, False)])
def test_memory_is_short_if_less_than_a_twentieth_of_it_is_free(free: float, goes: bool) -> None:
    assert unloaded(record(model_2=1.8), free) == ("model-2" if goes else None)


def test_nothing_goes_where_the_memory_is_not_known() -> None:
    assert draft_to_unload(0, 0, SIZES, record(model_2=1.8), seldom) is None


def test_one_that_pays_or_was_hardly_tried_stays() -> None:
    seen = record(model=0.6)
    for _ in range(4):
        seen.observe("prose", "model-2", 2.0, 1)
    assert unloaded(seen) is None


def test_the_one_that_the_settings_name_stays_and_the_next_goes() -> None:
    assert unloaded(record(model=1.2, model_2=1.8), asked="model-2") == "model"
    assert unloaded(record(model_2=1.8), asked="model-2") is None


def test_of_equals_the_largest_goes_and_one_that_takes_no_main_memory_stays() -> None:
    seen = record(model=1.4, model_2=1.4, model_3=1.4)
    assert unloaded(seen) == "model-3"
    assert draft_to_unload(0, 16 * GB, {**SIZES, "model-3": 0, "model-2": 3 * GB}, seen, seldom) == "model-2"
    assert draft_to_unload(0, 16 * GB, dict.fromkeys(SIZES, 0), seen, seldom) is None


def test_one_that_is_usually_accepted_stays_since_other_programs_made_it_slow() -> None:
    seen = record(model=1.2, model_2=1.8)
    accepted = {"model": 0.4, "model-2": 0.9}.__getitem__
    assert draft_to_unload(0, 16 * GB, dict.fromkeys(("model", "model-2"), GB), seen, accepted) == "model"


def test_a_drafter_lost_only_if_it_was_tried_enough_and_gained_on_no_kind_of_text() -> None:
    seen = Gains()
    assert seen.lost("model") == 0
    for rounds in range(1, 41):
        seen.observe("prose", "model", 1.5, 1)
        assert (seen.lost("model") > 0) == (0.5 * sum(0.98**age for age in range(rounds)) >= 5)
    for _ in range(3):
        seen.observe("prose", "eagle3", 6.0, 1)
    assert seen.lost("eagle3") == 0, "three rounds may all have been interrupted"
    for _ in range(3):
        seen.observe("code", "model", 2.0, 3)
    assert seen.lost("model") == 0, "it gains on code"


def test_what_was_lost_adds_up_over_kinds_of_text_and_is_kept_for_the_next_start() -> None:
    seen, again = Gains(), Gains()
    for kind in ("prose", "code"):
        for _ in range(10):
            seen.observe(kind, "model", 1.5, 1)
    again.take(seen.to_json())
    lost = 2 * sum(0.5 * 0.98**age for age in range(10))
    assert again.lost("model") == pytest.approx(lost, abs=0.01)
    for broken in ({"prose": {"model": [1.0]}}, {"prose": {"model": [-1.0, 2.0]}}, {"prose": {"model": ["inf", 1]}}):
        with pytest.raises(ValueError, match=r".+"):
            again.take(broken)
