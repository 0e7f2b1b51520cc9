"""How much one draft gains."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from specchat.bench.drafts import summed_up, time_draft
from specchat.bench.plan import DRAFTED, PLAIN
from specchat_engine import Engine, LoadOptions
from support.bench_samples import sample
from support.tiny_pair import TinyModels


@pytest.fixture
def engine(tiny_models: TinyModels) -> Iterator[Engine]:
    with Engine.load(tiny_models.target, tiny_models.draft, LoadOptions(threads=1)) as engine:
        yield engine


def test_a_real_pair_is_timed_until_the_time_is_over(engine: Engine) -> None:
    ticks = count()
    timed = time_draft(engine, 3, clock=lambda: float(next(ticks)))
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
