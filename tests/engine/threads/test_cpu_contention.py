"""Fewer threads while other programs keep the cores busy: found by trying, and given up again when they are gone."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.threads.cpu_contention import CpuContention, ladder


class Machine:
    """Passes on `cores` of which other programs take `busy`; a thread that waits for one of these keeps all waiting.

    `slowness` is that of the whole machine.
    """

    def __init__(self, cores: int, busy: int = 0, seed: int = 1) -> None:
        self.contention = CpuContention(cores)
        self.cores, self.busy, self.slowness = cores, busy, 1.0
        self.now = self.computed = 0.0
        self.took: list[tuple[int, float]] = []
        self._random = Random(seed)

    def passes(self, count: int, width: int = 1) -> None:
        for _ in range(count):
            threads = self.contention.count
            milliseconds = self.slowness * self._undisturbed(threads, width) * self._random.uniform(1.0, 1.25)
            self.computed += threads * milliseconds / 1e3
            if threads > max(1, self.cores - self.busy) and self._random.random() < 0.5:
                waited = self._random.uniform(4, 40)
                milliseconds += waited
                self.computed += threads * 0.5 * waited / 1e3
            self.now += milliseconds / 1e3
            self.took.append((threads, milliseconds))
            self.contention.passed([(width, milliseconds, 0.0)], self.now, self.computed)

    def rest(self, seconds: float) -> None:
        self.now += seconds

    def _undisturbed(self, threads: int, width: int) -> float:
        return (0.4 + 3.2 / threads) * (1 + 0.3 * (width - 1))

    @property
    def mean(self) -> float:
        return sum(milliseconds for _, milliseconds in self.took) / len(self.took)


@pytest.mark.parametrize(("threads", "steps"), [(1, (1,)), (2, (2, 1)), (4, (4, 3, 2, 1)), (16, (16, 15, 8, 1))])
def test_one_goes_down_by_a_core_by_half_and_to_a_single_thread(threads: int, steps: tuple[int, ...]) -> None:
    assert ladder(threads) == steps


@given(st.integers(1, 32), st.integers(0, 1000), st.integers(1, 17))
def test_a_quiet_machine_keeps_all_threads_and_tries_nothing(cores: int, seed: int, width: int) -> None:
    machine = Machine(cores, seed=seed)
    machine.passes(200, width)
    assert {threads for threads, _ in machine.took} == {cores}


@pytest.mark.parametrize(("cores", "busy", "settled"), [(2, 1, 1), (2, 2, 1), (8, 1, 7), (8, 3, 4), (16, 4, 8)])
@pytest.mark.parametrize("seed", range(5))
def test_beside_busy_programs_as_many_threads_compute_as_have_a_core_of_their_own(
    cores: int, busy: int, settled: int, seed: int
) -> None:
    machine = Machine(cores, busy, seed)
    machine.passes(400)
    assert machine.contention.settled == settled
    machine.took.clear()
    machine.passes(1000)
    undisturbed = 1.125 * (0.4 + 3.2 / settled)
    assert machine.mean < 1.5 * undisturbed, "trials of more threads cost little"


@pytest.mark.parametrize("slow", ["the first ones", "the last ones"])
def test_of_passes_that_are_reported_together_the_last_ones_count(slow: str) -> None:
    contention = CpuContention(2)
    quiet, slowed = [(1, 10.0, 0.0)] * 16, [(1, 40.0, 0.0)] * 16
    contention.passed(quiet, 1.0, 10.0)
    contention.passed(slowed + quiet if slow == "the first ones" else quiet + slowed, 2.0, 20.0)
    assert contention.count == (2 if slow == "the first ones" else 1)


def test_a_machine_that_was_busy_from_the_start_shows_in_the_time_its_threads_computed() -> None:
    contention, now, computed = CpuContention(2), 0.0, 0.0
    for _ in range(12):
        milliseconds = 300.0 if contention.count == 2 else 3.0
        now += milliseconds / 1e3
        computed += (0.55 if contention.count == 2 else 1.0) * contention.count * milliseconds / 1e3
        contention.passed([(1, milliseconds, 0.0)], now, computed)
    assert contention.count == 1


def test_all_threads_come_back_soon_after_the_others_have_ended() -> None:
    machine = Machine(2, busy=1)
    machine.passes(300)
    assert machine.contention.settled == 1
    machine.busy = 0
    machine.rest(61)
    machine.passes(30)
    assert machine.contention.settled == 2


def test_what_slows_all_threads_alike_changes_nothing_and_is_tried_ever_more_rarely() -> None:
    machine = Machine(4)
    machine.passes(50)
    machine.slowness = 3.0
    machine.passes(1000)
    fewer = sum(threads < 4 for threads, _ in machine.took)
    assert machine.contention.settled == 4
    assert 0 < fewer < 0.15 * len(machine.took)


def test_a_single_slow_pass_is_no_contention() -> None:
    machine = Machine(4)
    machine.passes(40)
    machine.slowness = 400.0
    machine.passes(1)
    machine.slowness = 1.0
    machine.passes(20)
    assert {threads for threads, _ in machine.took} == {4}


def test_a_trial_that_stalls_ends_with_its_first_pass() -> None:
    machine = Machine(2, busy=1)
    machine.passes(300)
    machine.rest(61)
    assert machine.contention.count == 1
    machine.contention.passed([(1, 3.6, 0.0)], machine.now, machine.computed)
    assert machine.contention.count == 2, "all threads are tried again"
    machine.contention.passed([(1, 400.0, 0.0)], machine.now, machine.computed)
    assert machine.contention.count == 1


def test_a_trial_that_only_loses_ends_before_it_has_lost_the_time_of_three_passes() -> None:
    machine = Machine(2, busy=1)
    machine.passes(300)
    machine.rest(61)
    contention, pass_ms, lost = machine.contention, 3.6 * 1.125, 0.0
    contention.passed([(1, pass_ms, 0.0)], machine.now, machine.computed)
    while contention.count == 2:
        lost += 0.5 * pass_ms
        contention.passed([(1, 1.5 * pass_ms, 0.0)], machine.now, machine.computed)
    assert 0 < lost < 3 * pass_ms


def test_widths_are_compared_with_themselves() -> None:
    machine = Machine(4)
    for _ in range(60):
        machine.passes(2, width=1)
        machine.passes(2, width=17)
    assert {threads for threads, _ in machine.took} == {4}


@pytest.mark.parametrize(("share", "count"), [(0.55, 1), (0.95, 2)])
def test_the_time_of_drafts_is_time_that_threads_wanted_too(share: float, count: int) -> None:
    contention, computed = CpuContention(2), 0.0
    for turn in range(8):
        computed += share * 2 * (300 + 250) / 1e3
        contention.passed([(2 + turn, 300.0, 250.0)], turn, computed, drafting=2)
    assert contention.count == count


def test_widths_that_all_threads_have_never_made_are_compared_with_the_nearest_ones() -> None:
    contention, computed, turn = CpuContention(2), 0.0, 0
    while contention.count == 2:
        turn, computed = turn + 1, computed + 0.1
        contention.passed([(1, 300.0, 0.0)], turn, computed)
    for _ in range(12):
        turn, computed = turn + 1, computed + 0.02
        contention.passed([(5, 20.0, 0.0)], turn, computed)
    assert contention.settled == 1


def test_passes_that_took_no_time_say_nothing() -> None:
    contention = CpuContention(2)
    for turn in range(50):
        contention.passed([(1, 0.0, 0.0)] * 4, turn, 0.0)
    assert contention.count == 2


@given(
    st.integers(1, 12),
    st.lists(
        st.tuples(st.integers(1, 33), st.floats(0, 1e4), st.floats(0, 1e4), st.floats(0, 100), st.floats(0, 100)),
        max_size=120,
    ),
)
def test_whatever_is_reported_there_is_a_count_between_one_and_all(
    threads: int, passes: list[tuple[int, float, float, float, float]]
) -> None:
    contention, now, computed = CpuContention(threads), 0.0, 0.0
    for width, took, drafted, later, more in passes:
        now, computed = now + later, computed + more
        contention.passed([(width, took, drafted)], now, computed)
        assert {contention.count, contention.settled} <= set(ladder(threads))


class Starved:
    """Passes of one token on 2 cores for whose threads there is half of the time that they want."""

    def __init__(self) -> None:
        self.contention = CpuContention(2)
        self.now = self.computed = 0.0

    def passes(self, count: int, milliseconds: float) -> None:
        for _ in range(count):
            self.now += milliseconds / 1e3
            self.computed += 0.5 * self.contention.count * milliseconds / 1e3
            self.contention.passed([(1, milliseconds, 0.0)], self.now, self.computed)

    def until_tried(self) -> float:
        """The seconds that pass until fewer threads are tried, which then turn out to be no better."""
        began = self.now
        while self.contention.count == 2:
            self.passes(1, 50.0)
        took = self.now - began
        self.passes(12, 50.0)
        return took


@pytest.mark.parametrize(("share", "settled"), [(0.8, 1), (0.95, 2)])
def test_fewer_threads_stay_only_where_they_are_clearly_faster(share: float, settled: int) -> None:
    machine = Starved()
    machine.until_tried()
    while machine.contention.count == 2:
        machine.passes(1, 50.0)
    machine.passes(12, share * 50.0)
    assert machine.contention.settled == settled


def test_what_did_not_help_is_tried_again_ever_later() -> None:
    machine = Starved()
    waits = [machine.until_tried() for _ in range(7)]
    assert waits[0] < 1
    assert waits[1:6] == pytest.approx([2, 6, 18, 54, 60], abs=0.2)
