"""Thread counts of a pair: as asked for, or what other programs leave, and never anything but the speed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from specchat_engine import Engine, LoadOptions, SamplingParams, Session, SettingError, Settings
from specchat_engine.threads.in_force import PairThreads
from support.threaded import ThreadedScript
from support.tiny_models import EngineFiles


class Pair:
    """Two models and their threads."""

    def __init__(self, asked: tuple[int, int], *, on_gpu: bool = False) -> None:
        self.target, self.draft = ThreadedScript(on_gpu=on_gpu), ThreadedScript(max_rows=1)
        self.threads = PairThreads(self.target, self.draft, 8, asked)

    @property
    def counts(self) -> tuple[int, int]:
        return self.target.threads, self.draft.threads


@pytest.mark.parametrize(
    ("asked", "counts", "reading"),
    [
        ((0, 0), (8, 8), (8, 8)),
        ((3, 0), (3, 3), (3, 3)),
        ((0, 2), (8, 2), (8, 2)),
        ((3, 5), (3, 5), (3, 5)),
    ],
)
def test_there_is_the_usual_number_of_threads_or_what_was_asked_for(
    asked: tuple[int, int], counts: tuple[int, int], reading: tuple[int, int]
) -> None:
    pair = Pair(asked)
    assert (pair.counts, pair.threads.in_force.counts) == (counts, counts)
    assert (pair.target.reading_threads, pair.draft.reading_threads) == reading
    assert pair.threads.in_force.because == ""


def contended(pair: Pair) -> list[bool]:
    """Passes in which the threads hardly computed, until others were tried and found better."""
    changes = [pair.threads.passed([(1, 100.0, 0.0)] * 4) for _ in range(4)]
    return [*changes, pair.threads.passed([(1, 10.0, 0.0)] * 12)]


def test_where_nobody_asked_for_a_number_other_programs_leave_fewer_threads_for_both() -> None:
    pair = Pair((0, 0))
    assert contended(pair) == [False, False, False, False, True], "a trial is not a decision"
    assert pair.counts == (7, 7)
    threads = pair.threads.in_force
    assert threads.because == "other programs keep cores busy: 7 of 8 threads compute"
    assert threads.to_json()["threads_because"] == {"threads": threads.because}
    assert pair.target.reading_threads == 8


def test_a_number_that_was_asked_for_stays_whatever_other_programs_do() -> None:
    pair = Pair((8, 8))
    assert contended(pair) == [False] * 5
    assert (pair.counts, pair.threads.in_force.because) == ((8, 8), "")


def test_a_model_that_lies_wholly_on_a_gpu_is_left_alone() -> None:
    pair = Pair((0, 0), on_gpu=True)
    assert contended(pair) == [False] * 5
    assert (pair.counts, pair.threads.in_force.because) == ((8, 8), "")


def test_threads_that_gave_way_come_back_with_a_number_of_the_user() -> None:
    pair = Pair((0, 0))
    contended(pair)
    pair.threads.ask(8, 4)
    assert pair.counts == (8, 4)
    pair.threads.ask(0, 0)
    assert pair.counts == (8, 8), "what was found before counts no more"


@pytest.fixture(scope="module")
def engine(files: EngineFiles) -> Iterator[Engine]:
    with Engine.load(files.target, files.draft, LoadOptions(threads=1, n_ctx=1024)) as engine:
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
        memory.read([3 + place % 250 for place in range(depth)], bool)
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


def test_a_change_is_reported_and_learned_apart(engine: Engine) -> None:
    engine.use_threads(1, 1)
    session = engine.session(settings=Settings(k=0, max_tokens=12), seed=1)
    answered(session, "What is a cache?")
    assert session.start_line()["machine"]["threads"] == 1
    engine.use_threads(2, 0)
    session = engine.session(settings=Settings(k=0, max_tokens=12), seed=1)
    answered(session, "What is a cache?")
    line = session.start_line()["machine"]
    assert (line["threads"], line["threads_draft"], line["threads_because"]) == (2, 2, {})
    assert set(engine.controller.to_json()["target"]) == {"1", "2"}
    with pytest.raises(SettingError, match="threads is -1: use a whole number from 0 to 512"):
        engine.use_threads(-1, 1)


def test_the_record_of_a_pair_is_found_with_any_threads_and_by_the_name_of_older_versions(files: EngineFiles) -> None:
    identities = []
    for asked in ((0, 0), (1, 2)):
        options = LoadOptions(threads=asked[0], threads_draft=asked[1])
        with Engine.load(files.target, files.draft, options) as engine:
            identities.append(engine.identity)
    assert identities[0] == identities[1]
    assert "threads='auto', threads_draft='auto'" in identities[0]
