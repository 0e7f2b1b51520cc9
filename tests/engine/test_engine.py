"""The engine on real files: speculation never changes the text, and nothing crashes."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specchat_engine import (
    Cancelled,
    ContextOverflowError,
    DecodeError,
    Engine,
    EngineError,
    LoadOptions,
    Message,
    SamplingParams,
    SettingError,
    Settings,
)
from specchat_engine.codec import to_json
from specchat_engine.llama.vocabulary import Vocabulary
from specchat_engine.memory.placement import DeviceMemory, Machine
from specchat_engine.settings import UNAIDED
from support.controllers import taught
from support.conversations import PROMPTS, answers
from support.tiny_models import EngineFiles, write_tiny_model

ONE_THREAD = LoadOptions(threads=1)


@pytest.fixture(scope="module")
def engine(files: EngineFiles) -> Iterator[Engine]:
    with Engine.load(files.target, files.draft, ONE_THREAD) as engine:
        yield engine


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize(("drafter", "k"), [("model", 1), ("model", 4), ("model", 11), ("lookup", 3), ("lookup", 32)])
def test_the_text_does_not_depend_on_the_drafter_or_k(engine: Engine, temperature: float, drafter: str, k: int) -> None:
    settings = Settings(max_tokens=60, sampling=SamplingParams(temperature=temperature), ngram_min=1)
    plain = answers(engine.session(settings=replace(settings, drafter="none"), seed=5))
    session = engine.session(settings=replace(settings, drafter=drafter, k=k), seed=5)
    assert answers(session) == plain
    assert session.stats.num_draft_tokens > 0
    assert len(set(plain)) == 2


def test_real_models_accept_some_tokens_and_reject_some(engine: Engine) -> None:
    session = engine.session(settings=Settings(k=4, max_tokens=200, sampling=SamplingParams(temperature=0.8)), seed=2)
    answers(session)
    assert session.stats.alpha is not None
    assert 0 < session.stats.alpha < 1
    assert session.stats.draft_ms > 0


def test_the_second_turn_equals_that_of_a_fresh_session(engine: Engine) -> None:
    session = engine.session(seed=8, settings=Settings(max_tokens=30))
    first, second = answers(session)
    fresh = engine.session(seed=8, settings=Settings(max_tokens=30, drafter="none"))
    fresh.messages = list(session.messages[:2])
    for _ in fresh.generate(PROMPTS[1]):
        pass
    assert (fresh.text, fresh.messages[1].content) == (second, first)


def test_sessions_take_turns_in_one_memory(engine: Engine) -> None:
    settings = Settings(max_tokens=30)
    alone = answers(engine.session(seed=8, settings=settings))
    first, other = engine.session(seed=8, settings=settings), engine.session(system="Else.", seed=1, settings=settings)
    texts = []
    for prompt in PROMPTS:
        for _ in first.generate(prompt):
            pass
        texts.append(first.text)
        answers(other)
    assert texts == alone


def test_a_full_context_ends_the_answer(files: EngineFiles) -> None:
    settings = Settings(k=8, sampling=SamplingParams(temperature=0))
    with Engine.load(files.target, files.draft, LoadOptions(n_ctx=256, threads=1)) as engine:
        session = engine.session(settings=settings, seed=1)
        for _ in session.generate("x" * 200):
            pass
        assert session.end_reason in ("context", "end")
        assert session.stats.prompt_tokens + session.stats.num_tokens <= 256
        with pytest.raises(ContextOverflowError, match="the context holds 256"):
            next(iter(session.generate("y" * 400)))
        for _ in session.generate("z" * 200):
            pass
        assert session.notices == ["dropped the oldest turn to fit the context of 256 tokens"]


@pytest.mark.parametrize("drafting", [{"drafter": "lookahead", "k": 3}, {"drafter": "model", "k": 4, "tree": 24}])
def test_trees_leave_the_last_tokens_of_a_context_their_room(
    files: EngineFiles, vocabulary: Vocabulary, drafting: dict[str, Any]
) -> None:
    endless = SamplingParams(temperature=0.8, logit_bias=tuple((token, -math.inf) for token in vocabulary.ends))
    with Engine.load(files.target, files.draft, LoadOptions(n_ctx=256, threads=1)) as engine:
        for letters in (150, 230):
            texts = []
            for how in ({"drafter": "none"}, drafting):
                session = engine.session(settings=replace(Settings(sampling=endless), **how), seed=1)
                for _ in session.generate("x" * letters):
                    pass
                texts.append(session.text)
                assert session.end_reason == "context"
            assert texts[0] == texts[1]


def test_a_full_context_can_stop_the_conversation_instead(files: EngineFiles) -> None:
    settings = Settings(k=8, sampling=SamplingParams(temperature=0), context_full="stop", max_tokens=20)
    with Engine.load(files.target, files.draft, LoadOptions(n_ctx=256, threads=1)) as engine:
        session = engine.session(settings=settings, seed=1)
        for _ in session.generate("x" * 120):
            pass
        said = [*session.messages, Message("user", "y" * 200)]
        assert session.num_dropped(session.messages) == 0
        with pytest.raises(ContextOverflowError, match="or set context-full to drop or summarise"):
            next(iter(session.answer(said, 1)))
        session.settings = replace(settings, context_full="drop")
        assert session.num_dropped(said) == 1
        next(iter(session.answer(said, 1)))
        assert session.notices == ["dropped the oldest turn to fit the context of 256 tokens"]


def test_without_a_draft_lookup_and_the_grammar_are_at_hand(files: EngineFiles) -> None:
    with Engine.load(files.target, options=ONE_THREAD) as engine:
        assert (engine.drafters, engine.draft) == (("hybrid", "lookup", *UNAIDED, "none"), None)
        assert engine.session().settings.drafter == "hybrid"
        with pytest.raises(SettingError, match=r"'model' needs a draft model: name one with -d"):
            engine.session(settings=Settings(drafter="model"))


def test_the_models_own_recommendation_comes_before_the_defaults(engine: Engine) -> None:
    assert engine.recommended == SamplingParams(temperature=0.7)
    assert engine.session().settings.sampling is engine.recommended


def test_what_is_known_of_a_model(engine: Engine, files: EngineFiles) -> None:
    info = to_json(engine.target)
    assert info["name"] == "target"
    assert info["path"] == str(files.target)
    assert (info["n_vocab"], info["n_ctx"], info["n_ctx_train"]) == (261, 1024, 1024)
    assert info["n_params"] > 50_000


def test_the_start_line_names_models_versions_and_the_machine(engine: Engine) -> None:
    line = engine.session(seed=1).start_line()
    assert (line["target"]["name"], line["draft"]["name"]) == ("target", "draft")
    assert set(line["versions"]) == {"specchat", "llama-cpp-python", "llama.cpp", "python"}
    assert line["machine"]["threads"] == 1


def test_more_than_k_max_is_refused_and_the_default_and_auto_obey_it(files: EngineFiles) -> None:
    with Engine.load(files.target, files.draft, LoadOptions(k_max=2, threads=1)) as engine:
        with pytest.raises(SettingError, match="k is 3: the models were loaded for at most 2"):
            engine.session(settings=Settings(k=3))
        session = engine.session(seed=1)
        assert (session.settings.k, session.settings.drafter) == ("auto", "hybrid")
        taught(engine.controller, 0.01, 0.01)
        assert max(event.k for event in session.generate("hello")) == 2


def test_loading_can_be_watched_and_stopped(files: EngineFiles) -> None:
    seen: list[float] = []

    def watch(share: float) -> bool:
        seen.append(share)
        return True

    Engine.load(files.target, files.draft, progress=watch).close()
    assert seen.count(1.0) >= 2
    assert all(0 <= share <= 1 for share in seen)
    with pytest.raises(Cancelled, match="was stopped"):
        Engine.load(files.target, progress=lambda _: False)


def test_an_engine_that_forgot_answers_as_a_fresh_one_from_empty_memories(files: EngineFiles) -> None:
    settings = Settings(k=3, sampling=SamplingParams(temperature=0), max_tokens=10)
    with Engine.load(files.target, files.draft, ONE_THREAD) as engine:
        first = answers(engine.session(settings=settings, seed=1))
        engine.forget()
        assert engine.memory.length == 0
        session = engine.session(settings=settings, seed=1)
        assert [model.length for model in session.pair.drafting] == [0]
        assert answers(session) == first


def test_an_engine_that_another_thread_closes_ends_the_answer_with_an_error(files: EngineFiles) -> None:
    for rounds in range(1, 30, 4):
        engine = Engine.load(files.target, files.draft, ONE_THREAD)
        session = engine.session(settings=Settings(sampling=SamplingParams(temperature=0.0)), seed=1)
        closing = threading.Thread(target=engine.close)
        answer = session.generate("Hello there")
        for _ in range(rounds):
            next(answer)
        closing.start()
        with pytest.raises(DecodeError, match="was closed"):
            list(answer)
        closing.join()
        assert session.end_reason == "error"


@pytest.mark.parametrize("work", ["measuring", "saving", "restoring", "inspecting", "checking"])
def test_an_engine_that_another_thread_closes_ends_other_work_with_an_error(
    files: EngineFiles, tmp_path: Path, work: str
) -> None:
    engine = Engine.load(files.target, files.draft, ONE_THREAD)
    session = engine.session(settings=Settings(max_tokens=4), seed=1)
    list(session.generate("Hello there"))
    engine.save_memory(tmp_path)
    grammar = Settings(sampling=SamplingParams(grammar='root ::= "a"'))
    do = {
        "measuring": lambda: list(engine.measuring()),
        "saving": lambda: engine.save_memory(tmp_path),
        "restoring": lambda: engine.restore_memory(tmp_path),
        "inspecting": lambda: session.inspect(0),
        "checking": lambda: engine.check(grammar),
    }[work]

    def do_for_ever() -> None:
        while True:
            do()

    closing = threading.Timer(0.05, engine.close)
    closing.start()
    with pytest.raises(DecodeError, match="was closed"):
        do_for_ever()
    closing.join()


def test_an_answer_whose_memory_was_emptied_fails_instead_of_going_on_without_its_prompt(files: EngineFiles) -> None:
    with Engine.load(files.target, files.draft, ONE_THREAD) as engine:
        rounds = engine.session(settings=Settings(max_tokens=8), seed=1).generate("Hello there")
        next(rounds)
        engine.forget()
        with pytest.raises(EngineError, match="finish or close one first"):
            next(rounds)


def test_whatever_is_asked_of_a_closed_engine_is_an_error_and_no_crash(files: EngineFiles, tmp_path: Path) -> None:
    engine = Engine.load(files.target, files.draft, ONE_THREAD)
    session = engine.session(settings=Settings(max_tokens=4), seed=1)
    list(session.generate("Hello there"))
    engine.save_memory(tmp_path / "kept")
    rounds = session.generate("hello")
    next(rounds)
    engine.close()
    engine.close()
    for work in (
        lambda: next(rounds),
        lambda: engine.save_memory(tmp_path / "more"),
        lambda: engine.restore_memory(tmp_path / "kept"),
        lambda: engine.memory.state_bytes,
        lambda: engine.memory.model.metadata("general.name"),
        lambda: engine.vocabulary.tokenize("hello", special=False),
        lambda: engine.check(Settings(sampling=SamplingParams(grammar='root ::= "a"'))),
        lambda: list(engine.measuring()),
        lambda: engine.session(),
        lambda: engine.forget(),
        lambda: session.prepare([Message("user", "hello")], bool),
        lambda: session.inspect(0),
        lambda: list(session.generate("And again")),
    ):
        with pytest.raises(DecodeError, match="was closed: load it again"):
            work()


def test_a_model_whose_own_context_needs_too_much_memory_gets_a_shorter_one_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tiny_model(tmp_path / "long.gguf", n_ctx=2**24)
    small = Machine((DeviceMemory("CPU", "cpu", 2**28, 2**28),))
    monkeypatch.setattr("specchat_engine.engine.this_machine", lambda: small)
    with Engine.load(path, options=ONE_THREAD) as engine:
        assert 1024 <= engine.target.n_ctx < 2**20
        assert f"The context has {engine.options.n_ctx:,} tokens" in engine.shortened_because
