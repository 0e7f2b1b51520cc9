"""A draft model is unloaded between two answers: its memory is free, and no session drafts with it any more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from specchat_engine import Engine, LoadOptions, Message, PairError, SettingError, Settings
from specchat_engine.errors import DecodeError, EngineError
from specchat_engine.llama.context import LlamaContext
from specchat_engine.memory.placement import DeviceMemory
from support.tiny_models import EngineFiles

OPTIONS = LoadOptions(threads=1)
SOURCES = {"model": "model", "model-2": "model-2", "model-3": "translated"}
ALL = tuple(SOURCES)
PROMPTS = ("Hello there", "And again: hello there, hello there")


@pytest.fixture
def engine(files: EngineFiles) -> Iterator[Engine]:
    """A target with three draft models; the last one drafts through text."""
    options = replace(OPTIONS, drafts=(str(files.short), str(files.stranger)))
    with Engine.load(files.target, files.draft, options) as engine:
        yield engine


def models(engine: Engine) -> list[str]:
    return [name for name in engine.drafters if name.startswith("model")]


@pytest.mark.parametrize("name", ALL)
def test_an_unloaded_draft_model_is_gone_and_the_others_draft_on(engine: Engine, name: str, tmp_path: Path) -> None:
    others = [one for one in ALL if one != name]
    identity, before = engine.identity, engine.memory_use
    session = engine.session(settings=Settings(drafter=name, k=4, max_tokens=40), seed=5)
    contexts = {one: context for one, (context, _) in session.pair.drafts.items()}
    list(session.generate(PROMPTS[0]))
    taken = engine.draft_memory
    engine.unload_draft(name)
    assert [contexts[name].length, *engine.draft_memory] == [0, *others]
    assert (models(engine), engine.identity) == (others, identity)
    assert (engine.draft is None) == (name == "model")
    assert [*engine.further] == [one for one in others if one != "model"]
    after = engine.memory_use
    assert before.draft_weights is not None
    assert after.draft_weights is not None
    assert 0 < before.draft_weights - after.draft_weights < taken[name]
    context = contexts[name]
    assert isinstance(context, LlamaContext)
    assert context.handle is context.model.handle is None
    for other in others:
        session.settings = replace(session.settings, drafter=other)
        rounds = session.answer([Message("user", PROMPTS[1])], turn=0)
        assert {event.source for event in rounds if event.drafted} == {SOURCES[other]}
    engine.save_memory(tmp_path)
    assert len([*tmp_path.glob("*.state")]) == 3
    engine.forget()
    assert engine.restore_memory(tmp_path)


@pytest.mark.parametrize("name", ALL)
def test_it_changes_no_text_and_reading_ahead_and_looking_closer_go_on(engine: Engine, name: str) -> None:
    plain = engine.session(settings=Settings(k=0, drafter="none", max_tokens=40), seed=5)
    session = engine.session(settings=Settings(k="auto", max_tokens=40), seed=5)
    for prompt in PROMPTS:
        list(plain.generate(prompt))
    list(session.generate(PROMPTS[0]))
    engine.unload_draft(name)
    session.prepare([*session.messages, Message("user", PROMPTS[1])], bool)
    rounds = list(session.generate(PROMPTS[1]))
    assert session.messages == plain.messages
    assert SOURCES[name] not in {event.source for event in rounds}
    assert any(token.raw_q is not None for token in session.inspect(1).tokens)
    for _ in engine.measuring():
        pass


def test_all_can_go_one_after_the_other(engine: Engine) -> None:
    session = engine.session(settings=Settings(k=4, max_tokens=30), seed=5)
    for name in ALL:
        list(session.generate(PROMPTS[0]))
        engine.unload_draft(name)
        compared = any(token.raw_q is not None for token in session.inspect(1).tokens)
        assert compared == (name == "model"), "the last one has another vocabulary"
    assert engine.threads.in_force.draft == 0
    assert {event.source for event in session.generate(PROMPTS[1])} <= {"lookup", "none"}
    assert (models(engine), engine.draft, engine.further, engine.translated_because) == ([], None, {}, "")
    assert engine.memory_use.draft_weights == 0
    for _ in engine.measuring():
        pass


def test_a_drafter_that_was_unloaded_is_refused_by_name_and_its_name_is_not_given_again(
    engine: Engine, files: EngineFiles
) -> None:
    engine.unload_draft("model-2")
    for name in ("model-2", "model-9"):
        with pytest.raises(PairError, match=f"'{name}' cannot be unloaded: no draft model of this name is loaded"):
            engine.unload_draft(name)
    assert engine.add_draft(files.short) == "model-4"
    engine.unload_draft("model")
    for name in ("model", "model-2"):
        with pytest.raises(SettingError, match=f"the drafter '{name}' was unloaded: use another, or load the models"):
            engine.check(Settings(drafter=name))
    session = engine.session(settings=Settings(drafter="model-4", k=4, max_tokens=30), seed=5)
    assert {event.source for event in session.generate(PROMPTS[0]) if event.drafted} == {"model-4"}


def test_nothing_is_unloaded_while_an_answer_is_given(engine: Engine) -> None:
    session = engine.session(settings=Settings(drafter="model-2", k=4, max_tokens=30), seed=5)
    rounds = session.generate(PROMPTS[0])
    next(rounds)
    with pytest.raises(EngineError, match="an answer is being given"):
        engine.unload_draft("model-2")
    assert models(engine) == [*ALL]
    list(rounds)
    assert session.end_reason == "length"
    engine.unload_draft("model-2")


def test_measurements_that_were_begun_before_end_in_an_error_at_most(engine: Engine) -> None:
    for name in ALL:
        measuring = engine.measuring()
        next(measuring)
        engine.unload_draft(name)
        with suppress(DecodeError):
            list(measuring)


def test_the_engine_names_the_draft_model_that_never_paid_while_memory_is_short(engine: Engine) -> None:
    short, plenty = DeviceMemory("CPU", "cpu", 10**8, 10**10), DeviceMemory("CPU", "cpu", 5 * 10**9, 10**10)
    assert engine.draft_to_unload(short) is None
    for _ in range(60):
        engine.controller.gains.observe("prose", "model-3", 2.0, 1)
    assert engine.draft_to_unload(short) == "model-3"
    assert engine.draft_to_unload(plenty) is engine.draft_to_unload(short, asked="model-3") is None
    assert all(size > 0 for size in engine.draft_memory.values())
