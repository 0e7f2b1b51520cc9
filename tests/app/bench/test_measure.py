"""Real answers of tiny models; how long they take is never judged."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from specchat.bench.measure import BenchRunner, Setup, peak_memory_bytes, summed_up, time_draft
from specchat.bench.plan import DRAFTED, PLAIN, Arm, turns
from specchat.bench.samples import Sample
from specchat_engine import Engine, LoadOptions, Session, Settings
from specchat_engine.policy.controller import Controller
from specchat_engine.settings import AUTO
from support.bench_samples import sample
from support.tiny_models import TinyModels

SETUP = Setup(system=None, base=Settings(max_tokens=12), seed=5)
ARMS = (PLAIN, Arm("model", 3), Arm("lookup", 4), Arm("hybrid", AUTO))
PROMPTS = {"greeting": ("Hello there, hello there", "Hello"), "other": ("Good day",)}
PLANNED = [*turns(ARMS, PROMPTS, (0.0, 0.8), 2, seed=1)]


@pytest.fixture(scope="module")
def engine(tiny_models: TinyModels) -> Iterator[Engine]:
    with Engine.load(tiny_models.target, tiny_models.draft, LoadOptions(threads=1)) as engine:
        yield engine


@pytest.fixture(scope="module")
def samples(engine: Engine) -> list[Sample]:
    return [*BenchRunner(engine, SETUP).measure(PLANNED)]


def test_every_turn_gives_its_sample_in_order(samples: list[Sample]) -> None:
    planned = [(turn.arm, turn.temperature, turn.kind, turn.prompt, turn.repeat) for turn in PLANNED]
    assert [(one.arm, *one.pair) for one in samples] == planned


def test_each_arm_drafts_as_it_says_and_times_add_up(samples: list[Sample]) -> None:
    for one in samples:
        assert one.num_tokens <= 12
        if one.arm == PLAIN:
            assert (one.num_draft_tokens, one.full_rounds, one.num_rounds) == (0, 0, one.num_tokens)
        elif one.arm.drafter == "model":
            assert one.num_draft_tokens > 0
            assert one.draft_ms > 0
            assert 3 * one.full_rounds <= one.num_draft_tokens
            assert 0 < one.full_verify_ms <= one.verify_ms or not one.full_rounds
        assert one.draft_ms == 0 or one.arm.drafter in ("model", "hybrid")
        assert one.wall_ms >= one.decode_ms + one.prompt_ms + one.draft_prompt_ms
        assert 0 < one.ttft_ms <= one.wall_ms
    assert any(one.full_rounds for one in samples if one.arm == Arm("model", 3))


def test_all_arms_answer_a_question_with_the_same_text_and_the_same_seed(samples: list[Sample]) -> None:
    texts: dict[object, set[str]] = {}
    for one in samples:
        texts.setdefault(one.pair, set()).add(one.text_hash)
    assert all(len(hashes) == 1 for hashes in texts.values())
    warm = {one.repeat: one.text_hash for one in samples if one.pair[:3] == (0.8, "greeting", 0) and one.arm == PLAIN}
    assert warm[0] != warm[1], "repeats draw anew"


def test_no_answer_finds_memories_of_an_earlier_one_and_each_arm_learns_from_its_own_alone(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[int, int]] = []
    used: list[tuple[Arm, Controller]] = []
    begin = Session.generate

    def look(session: Session, *arguments: object) -> object:
        assert session.pair.draft is not None
        found.append((session.pair.target.length, session.pair.draft.length))
        used.append((Arm(session.settings.drafter, session.settings.k), engine.controller))
        return begin(session, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Session, "generate", look)
    before = engine.controller
    assert len([*BenchRunner(engine, SETUP).measure(PLANNED[:8])]) == 8
    assert found == [(0, 0)] * 8
    assert {arm for arm, _ in used} == {*ARMS}
    assert len({id(controller) for _, controller in used}) == len(ARMS)
    assert len({(arm, id(controller)) for arm, controller in used}) == len(ARMS)
    assert all(controller is not before for _, controller in used)


def test_a_warm_up_answers_briefly_under_each_arm(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: list[Settings] = []
    begin = Session.generate

    def look(session: Session, *arguments: object) -> object:
        settings.append(session.settings)
        return begin(session, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Session, "generate", look)
    BenchRunner(engine, SETUP.limited(500)).warm_up(PLANNED[:4])
    assert {Arm(each.drafter, each.k) for each in settings} == {*ARMS}
    assert {each.max_tokens for each in settings} == {16}


def test_peak_memory_is_of_this_process() -> None:
    assert 10 * 2**20 < peak_memory_bytes() < 2**40


@pytest.fixture
def fresh_engine(tiny_models: TinyModels) -> Iterator[Engine]:
    with Engine.load(tiny_models.target, tiny_models.draft, LoadOptions(threads=1)) as engine:
        yield engine


def test_a_real_pair_is_timed_until_the_time_is_over(fresh_engine: Engine) -> None:
    ticks = count()
    timed = time_draft(fresh_engine, 3, clock=lambda: float(next(ticks)))
    assert timed is not None
    assert timed.speedup.pairs == 3
    assert timed.speedup.value > 0
    assert timed.tokens_per_second > 0
    assert timed.alpha is not None
    assert 0 <= timed.alpha <= 1


def test_what_gains_on_each_kind_of_text_gains_in_all() -> None:
    samples = [
        sample(arm, kind=kind, prompt=prompt, wall_ms=wall)
        for kind in ("prose", "code")
        for prompt in range(3)
        for arm, wall in ((PLAIN, 200.0), (DRAFTED, 100.0))
    ]
    timed = summed_up(samples)
    assert timed is not None
    assert timed.speedup.value == pytest.approx(2.0)
    assert timed.tokens_per_second == pytest.approx(2 * timed.plain_tokens_per_second)
    assert timed.speedup.is_gain


def test_a_single_answer_may_be_chance() -> None:
    timed = summed_up([sample(PLAIN, wall_ms=200.0), sample(DRAFTED, wall_ms=100.0)])
    assert timed is not None
    assert not timed.speedup.is_gain


def test_answers_that_cannot_be_compared_say_nothing() -> None:
    assert summed_up([]) is None
    assert summed_up([sample(PLAIN)]) is None
