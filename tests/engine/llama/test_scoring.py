"""A prompt is scored on every kind of memory, which an answer can then use; several are scored at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from specchat_engine import Engine, LoadOptions, LogProbs, Prompt, SamplingParams, Session, Settings
from specchat_engine.decoding.logprobs import ScoredToken, score_prompt, scored
from support.memory_models import ARCHITECTURES, CLOSE, Make
from support.tiny_models import EngineFiles

IDS = [3 + place * place % 250 for place in range(60)]


def differs(one: ScoredToken, other: ScoredToken) -> float:
    assert one.id == other.id
    found, wanted = dict(one.likeliest), dict(other.likeliest)
    shared = found.keys() & wanted.keys()
    assert len(shared) >= len(wanted) - 1, "a near tie at most"
    return max(abs((one.logprob or 0) - (other.logprob or 0)), *(abs(found[token] - wanted[token]) for token in shared))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_passes_over_many_tokens_score_like_passes_over_one(make: Make, name: str) -> None:
    wide, narrow = make(name, 13), make(name, 13)
    wide.read(IDS[:30], bool)
    found = score_prompt(wide, IDS, 4, bool)
    wanted = [ScoredToken(IDS[0], None)]
    for place, token in enumerate(IDS[:-1]):
        wanted.append(scored(narrow.advance([token], 1)[0], IDS[place + 1], 4))
    assert max(map(differs, found[1:], wanted[1:])) < CLOSE
    assert wide.tokens == IDS[:-1]
    row = wide.advance(IDS[-1:], 1)[0].copy()
    np.testing.assert_allclose(row, narrow.advance(IDS[-1:], 1)[0], atol=CLOSE)


def test_answers_and_scores_at_the_same_time_do_not_disturb_each_other(files: EngineFiles) -> None:
    settings = Settings(max_tokens=30, k=3, drafter="lookup", sampling=SamplingParams(temperature=0))
    prompts = [Prompt(raw=[3 + (place * place + first) % 250 for place in range(70)]) for first in range(4)]
    with Engine.load(files.target, options=LoadOptions(threads=1, parallel=4, n_ctx=512)) as engine:

        def work(place: int) -> list[ScoredToken]:
            session = engine.session(settings=settings, place=place)
            return score_and_answer(session, prompts[place])

        with ThreadPoolExecutor(4) as threads:
            together = list(threads.map(work, range(4)))
        engine.forget()
        alone = [work(place) for place in range(4)]
    for one, other in zip(together, alone, strict=True):
        assert len(one) == 100
        assert max(map(differs, one[1:], other[1:])) < CLOSE


def score_and_answer(session: Session, prompt: Prompt) -> list[ScoredToken]:
    found = session.score(prompt, 3)
    session.watch = logprobs = LogProbs(3)
    for event in session.answer(prompt, 0):
        found += logprobs.of(event)
    assert session.stats.cached_tokens == 69
    return found
