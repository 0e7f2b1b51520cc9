"""How peers are compared: by the same task, kind by kind, each tool at its best single configuration."""

import math

import pytest

from benchmarks.peers.contest import Measured, Result, Task, best_of, standings
from specchat_engine import Message

OURS, FAST, SLOW = ("ours", "auto"), ("theirs", "n-gram"), ("theirs", "plain")


def task(kind: str, number: int = 1, temperature: float = 0.0, earlier: int = 0) -> Task:
    return Task(kind, number, earlier, (Message("user", "?"),), (1, 2), temperature, 7, 10)


def measured(**speeds: dict[tuple[str, str], float]) -> Measured:
    """By kind, the tokens/s of each configuration on one task."""
    results: dict[tuple[str, str], dict[Task, Result]] = {OURS: {}, FAST: {}, SLOW: {}}
    for kind, by_runner in speeds.items():
        for runner, speed in by_runner.items():
            results[runner][task(kind)] = Result(10, 10_000 / speed)
    return results


BOTH = measured(code={OURS: 100, FAST: 200, SLOW: 90}, story={OURS: 100, FAST: 30, SLOW: 95})


def test_a_configuration_is_given_as_a_share_of_the_base_by_kind_and_over_all_kinds() -> None:
    ours, fast, slow = standings(BOTH, OURS, 0.0)
    assert ours.kinds == pytest.approx({"code": 1, "story": 1})
    assert fast.kinds == pytest.approx({"code": 2, "story": 0.3})
    assert fast.over_all is not None
    assert fast.over_all.value == pytest.approx(math.sqrt(2 * 0.3))
    assert slow.speeds == pytest.approx({"code": 90, "story": 95})


def test_the_best_of_a_tool_is_best_over_all_kinds_not_on_one() -> None:
    assert best_of(standings(BOTH, OURS, 0.0), "theirs").name == "plain"


def test_answers_at_another_temperature_do_not_count() -> None:
    both = {runner: dict(results) for runner, results in BOTH.items()}
    both[FAST][task("code", temperature=0.8)] = Result(10, 1)
    assert standings(both, OURS, 0.0) == standings(BOTH, OURS, 0.0)


def test_answers_after_earlier_turns_of_another_length_do_not_count() -> None:
    both = {runner: dict(results) for runner, results in BOTH.items()}
    both[FAST][task("code", earlier=500)] = both[OURS][task("code", earlier=500)] = Result(10, 1)
    assert standings(both, OURS, 0.0, earlier=0) == standings(BOTH, OURS, 0.0)
    assert standings(both, OURS, 0.0, earlier=500)[1].kinds["code"] == pytest.approx(1)


def test_an_answer_without_tokens_is_left_out_of_its_pair() -> None:
    both = {runner: dict(results) for runner, results in BOTH.items()}
    both[OURS][task("story")] = Result(0, 5)
    fast = standings(both, OURS, 0.0)[1]
    assert fast.over_all is not None
    assert fast.over_all.value == pytest.approx(2)
