"""Thread counts of a pair: as asked for, or as measured, and never anything but the speed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions, SamplingParams, Session, SettingError, Settings
from specchat_engine.load_options import ThreadCount
from specchat_engine.policy.controller import Controller
from specchat_engine.threads.in_force import Threads
from specchat_engine.threads.processors import Processors, read_processors
from support.threaded import ThreadedScript, Times, shared_out
from support.tiny_models import EngineFiles

DAY = date(2026, 3, 1)
EIGHT = Processors(8, 8)


def fewer_are_better(_: int, threads: int) -> float:
    return float(threads)


class Pair:
    """Two models and their threads."""

    def __init__(self, asked: tuple[ThreadCount, ThreadCount], times: Times = shared_out) -> None:
        self.target, self.draft = ThreadedScript(times), ThreadedScript(fewer_are_better, max_rows=1)
        self.threads = Threads(self.target, self.draft, EIGHT, asked)

    @property
    def counts(self) -> tuple[int, int]:
        return self.target.threads, self.draft.threads

    def try_all(self, today: date = DAY) -> int:
        return sum(1 for _ in self.threads.trying(today, Controller()))


@pytest.mark.parametrize(
    ("asked", "counts", "reading"),
    [
        (("auto", "auto"), (8, 8), (8, 8)),
        ((0, 0), (8, 8), (8, 8)),
        ((3, "auto"), (3, 3), (3, 3)),
        ((3, 0), (3, 3), (3, 3)),
        (("auto", 2), (8, 2), (8, 2)),
        ((3, 5), (3, 5), (3, 5)),
    ],
)
def test_before_anything_was_measured_there_is_one_thread_a_core_or_what_was_asked_for(
    asked: tuple[ThreadCount, ThreadCount], counts: tuple[int, int], reading: tuple[int, int]
) -> None:
    pair = Pair(asked)
    assert (pair.counts, pair.threads.in_force.counts) == (counts, counts)
    assert (pair.target.reading_threads, pair.draft.reading_threads) == reading
    assert pair.threads.in_force.because == ""


def test_what_is_free_is_measured_and_prompts_are_still_read_by_all_cores() -> None:
    pair = Pair(("auto", "auto"))
    assert pair.try_all() > 0
    assert pair.counts == (8, 1)
    assert (pair.target.reading_threads, pair.draft.reading_threads) == (8, 8)
    told = pair.threads.in_force
    assert told.because.startswith("8 threads: 1.00, 4 threads: 0.50 of its speed, 1 thread: 0.12 of its speed, ")
    assert told.draft_because.startswith("1 thread: 1.00, 8 threads: ")
    assert told.to_json()["threads_because"] == {"threads": told.because, "threads_draft": told.draft_because}


def test_a_fresh_choice_is_not_measured_again_and_an_old_one_is() -> None:
    pair = Pair(("auto", "auto"))
    pair.try_all()
    assert pair.try_all(date(2026, 3, 7)) == 0
    assert pair.try_all(date(2026, 3, 9)) > 0


def test_a_choice_survives_what_is_no_clear_difference_and_gives_way_to_one() -> None:
    pair = Pair(("auto", "auto"), fewer_are_better)
    pair.try_all()
    assert (pair.target.threads, pair.target.reading_threads) == (1, 8)
    pair.target.times = lambda _, threads: 1.0 if threads == 1 else 0.98
    pair.try_all(date(2026, 4, 1))
    assert pair.target.threads == 1
    pair.target.times = shared_out
    pair.try_all(date(2026, 5, 1))
    assert pair.target.threads == 8


def test_the_draft_model_tries_no_more_threads_than_its_target_has() -> None:
    pair = Pair((4, "auto"))
    pair.try_all()
    assert {threads for _, threads in pair.draft.made} == {4, 1}
    assert {threads for _, threads in pair.target.made} == {4}


@pytest.mark.parametrize("asked", [(2, 1), (0, 0)])
def test_a_count_that_was_asked_for_is_never_tried(asked: tuple[ThreadCount, ThreadCount]) -> None:
    pair = Pair(asked)
    assert pair.try_all() == 0
    assert pair.target.made == pair.draft.made == []


def test_a_model_that_lies_wholly_on_a_gpu_is_left_alone() -> None:
    target, draft = ThreadedScript(fewer_are_better, on_gpu=True), ThreadedScript(fewer_are_better, max_rows=1)
    threads = Threads(target, draft, EIGHT, ("auto", "auto"))
    list(threads.trying(DAY, Controller()))
    assert (target.threads, draft.threads, threads.in_force.because) == (8, 1, "")
    assert {count for _, count in target.made} == {8}


def test_what_the_user_asks_for_in_the_middle_of_a_trial_holds_at_once_and_after_it() -> None:
    pair = Pair(("auto", "auto"), fewer_are_better)
    steps = pair.threads.trying(DAY, Controller())
    next(steps)
    pair.threads.ask(5, 2)
    assert pair.counts == (5, 2)
    list(steps)
    assert pair.counts == (5, 2)
    assert pair.threads.to_json() == {}


def test_what_is_asked_for_while_a_pass_is_made_is_not_taken_back_behind_it() -> None:
    pair = Pair(("auto", "auto"))

    def asks(width: int, threads: int) -> float:
        pair.threads.ask(5, 2)
        return shared_out(width, threads)

    pair.target.times = asks
    steps = pair.threads.trying(DAY, Controller())
    next(steps)
    assert pair.counts == (5, 2)


def test_half_a_trial_is_no_choice() -> None:
    pair = Pair(("auto", 1), fewer_are_better)
    for step, _ in enumerate(pair.threads.trying(DAY, Controller())):
        if step == 20:
            pair.target.capacity = 0
    assert (pair.counts, pair.threads.to_json()) == ((8, 1), {})


def test_a_trial_that_is_given_up_leaves_the_counts_as_they_were() -> None:
    pair = Pair(("auto", "auto"), fewer_are_better)
    steps = pair.threads.trying(DAY, Controller())
    for _ in range(20):
        next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert pair.counts == (8, 8)


def test_choices_are_taken_over_as_far_as_this_machine_has_the_cores() -> None:
    first, second = Pair(("auto", "auto")), Pair(("auto", "auto"))
    first.try_all()
    second.threads.take(first.threads.to_json())
    assert (second.counts, second.try_all(DAY)) == ((8, 1), 0)
    small = Threads(ThreadedScript(), None, Processors(2, 2), ("auto", "auto"))
    small.take(first.threads.to_json())
    assert small.in_force.counts == (2, 0)


def contended(pair: Pair) -> list[bool]:
    """Passes in which the threads hardly computed, until others were tried and found better."""
    told = [pair.threads.passed([(1, 100.0, 0.0)] * 4) for _ in range(4)]
    return [*told, pair.threads.passed([(1, 10.0, 0.0)] * 12)]


@pytest.mark.parametrize("asked", [(0, 0), ("auto", "auto")])
def test_where_nobody_asked_for_a_number_other_programs_leave_fewer_threads_for_both(
    asked: tuple[ThreadCount, ThreadCount],
) -> None:
    pair = Pair(asked)
    assert contended(pair) == [False, False, False, False, True], "a trial is no decision"
    assert pair.counts == (7, 7)
    assert pair.threads.in_force.because == "other programs keep cores busy: 7 of 8 threads compute"
    assert pair.target.reading_threads == 8


def test_a_number_that_was_asked_for_stays_whatever_other_programs_do() -> None:
    pair = Pair((8, 8))
    assert contended(pair) == [False] * 5
    assert (pair.counts, pair.threads.in_force.because) == ((8, 8), "")


def test_threads_that_gave_way_come_back_with_a_number_of_the_user() -> None:
    pair = Pair((0, 0))
    contended(pair)
    pair.threads.ask(8, 4)
    assert pair.counts == (8, 4)
    pair.threads.ask(0, 0)
    assert pair.counts == (8, 8), "what was found before counts no more"


def test_threads_are_not_measured_beside_other_programs() -> None:
    pair = Pair(("auto", "auto"))
    contended(pair)
    assert pair.try_all() == 0


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.load(*builtin_pair(), LoadOptions(threads=1, n_ctx=1024)) as engine:
        yield engine


def answered(session: Session, prompt: str, engine: Engine | None = None) -> list[int]:
    """The ids of an answer; with an engine its threads change before every round."""
    for event in session.generate(prompt):
        if engine:
            engine.use_threads(1 + event.index % 2, 1 + event.index // 2 % 2)
    return session.answer_ids


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("k", [0, 4])
def test_threads_that_change_in_mid_answer_leave_the_text_as_it_is(engine: Engine, temperature: float, k: int) -> None:
    settings = Settings(k=k, drafter="model", max_tokens=48, sampling=SamplingParams(temperature=temperature))
    texts = []
    for changing in (None, engine):
        engine.use_threads(1, 1)
        engine.forget()
        texts.append(answered(engine.session(settings=settings, seed=4), "What is a cache?", changing))
    assert texts[0] == texts[1]
    assert len(texts[0]) > 20


def test_threads_show_in_no_logit_of_a_wide_pass_and_of_a_single_one_in_its_last_bits_behind_256_tokens(
    engine: Engine,
) -> None:
    """There llama.cpp shares out the memory among the threads and adds up what each of them found."""
    memory = engine.memory
    for depth in (200, 400):
        rows: dict[int, list[np.ndarray]] = {}
        memory.read([300 + place % 500 for place in range(depth)], bool)
        for threads in (1, 2):
            engine.use_threads(threads, 1)
            rows[threads] = []
            for width in (1, 5):
                rows[threads].append(memory.advance(range(width), width).copy())
                memory.rewind(depth)
        (single, wide), (other_single, other_wide) = rows[1], rows[2]
        assert np.array_equal(wide, other_wide)
        assert np.array_equal(single, other_single) or depth > 256
        np.testing.assert_allclose(single, other_single, atol=0.2)


def test_a_change_is_told_and_learned_apart(engine: Engine) -> None:
    engine.use_threads(1, 1)
    session = engine.session(settings=Settings(k=0, max_tokens=12), seed=1)
    answered(session, "What is a cache?")
    assert session.start_line()["machine"]["threads"] == 1
    engine.use_threads(2, "auto")
    session = engine.session(settings=Settings(k=0, max_tokens=12), seed=1)
    answered(session, "What is a cache?")
    line = session.start_line()["machine"]
    assert (line["threads"], line["threads_draft"], line["threads_because"]) == (2, 2, {})
    assert set(engine.controller.to_json()["target"]) == {"1", "2"}
    with pytest.raises(SettingError, match="threads is -1: use auto, or a whole number from 0 to 512"):
        engine.use_threads(-1, 1)


def test_the_best_threads_of_real_models_are_measured_and_told(files: EngineFiles) -> None:
    with Engine.load(files.target, files.draft, LoadOptions(threads="auto", threads_draft="auto")) as engine:
        candidates = read_processors().candidates
        for _ in engine.measuring():
            assert engine.memory.length == 0
        told = engine.machine
        assert told["threads"] in candidates
        if len(candidates) > 1:
            assert str(told["threads"]) in told["threads_because"]["threads"]
            chosen = engine.threads.to_json()
            for _ in engine.measuring():  # costs may be measured again, if they took far too long: threads are not
                pass
            assert engine.threads.to_json() == chosen
        assert engine.controller.threads == (told["threads"], told["threads_draft"])
        assert engine.identity == repr_without_threads(files)


def repr_without_threads(files: EngineFiles) -> str:
    with Engine.load(files.target, files.draft, replace(LoadOptions(), threads=1)) as engine:
        return engine.identity
