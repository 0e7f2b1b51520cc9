"""Closer looks and branches through llama.cpp, whatever the models' memories are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from specchat_engine import Engine, LoadOptions, Message, SamplingParams, Session, Settings
from support.memory_models import ARCHITECTURES, write_memory_model

ASKED = [Message("user", "a prompt that is longer than any window: " * 2)]
PLAIN = Settings(k=0, drafter="none", sampling=SamplingParams(temperature=0.8), max_tokens=24)


@pytest.fixture(scope="module", params=ARCHITECTURES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("pair")
    target = write_memory_model(folder / "target.gguf", request.param)
    draft = write_memory_model(folder / "draft.gguf", request.param, noise=0.1)
    with Engine.load(target, draft, LoadOptions(n_ctx=1024, threads=1, k_max=12)) as engine:
        yield engine


def answered(engine: Engine, settings: Settings = PLAIN, prefix: tuple[int, ...] = ()) -> Session:
    """A session behind an answer for which everything was read anew."""
    engine.forget()
    session = engine.session(settings=settings, seed=5)
    list(session.answer(ASKED, 0, 0, prefix))
    return session


def test_a_closer_look_leaves_the_next_answer_as_it_was(engine: Engine) -> None:
    session = answered(engine)
    ids, text = session.answer_ids, session.text
    looks = [session.inspect(position) for position in (23, 4, 11)]
    for found in looks:
        assert found.of(found.said).p > 0
        assert found.of(found.said).raw_q is not None
    list(session.answer(ASKED, 0))
    assert (session.answer_ids, session.text) == (ids, text)


def test_a_look_after_another_equals_one_at_a_fresh_memory(engine: Engine) -> None:
    session = answered(engine)
    session.inspect(20)
    later = session.inspect(7)
    engine.forget()
    fresh = session.inspect(7)
    assert [token.id for token in later.tokens[:3]] == [token.id for token in fresh.tokens[:3]]
    for token in fresh.tokens[:3]:
        assert later.of(token.id).raw_p == pytest.approx(token.raw_p, rel=0.02)
        assert later.of(token.id).raw_q == pytest.approx(token.raw_q, rel=0.02)


def test_a_branch_from_what_was_said_says_the_same(engine: Engine) -> None:
    ids = answered(engine).answer_ids
    session = engine.session(settings=PLAIN, seed=5)
    for length in (20, 6):
        list(session.answer(ASKED, 0, 0, ids[:length]))
        assert session.answer_ids == ids
