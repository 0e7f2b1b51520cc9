"""Several answers at the same time: they share passes, and none changes what another one says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Barrier, get_ident
from typing import Any

import pytest

from specchat_engine import Engine, LoadOptions, Message, Round, SamplingParams, Session, Settings
from specchat_engine.errors import DecodeError, EngineError, SettingError
from specchat_engine.llama.library import api
from support.memory_models import RECURRENT, write_memory_model
from support.tiny_models import EngineFiles

OPTIONS = LoadOptions(threads=1, parallel=4, n_ctx=512)
PROMPTS = ("Hello there", "Tell me a story, tell me a story", "hello hello hello hello", "What is 1 + 1?")
# Passes of another width may differ in the last bits of their logits. Nothing is truncated here, and with this seed no
# token is nearly as good as the one that is said.
SAMPLING = SamplingParams(temperature=0.8, top_k=0, top_p=1.0, min_p=0.0)
SEED = 2
SETTINGS = Settings(k=3, max_tokens=40, drafter="model", sampling=SAMPLING)


@pytest.fixture(scope="module")
def engine(files: EngineFiles) -> Iterator[Engine]:
    with Engine.load(files.target, files.draft, OPTIONS) as engine:
        yield engine


def sessions(engine: Engine, settings: Settings = SETTINGS) -> list[Session]:
    engine.forget()
    return [engine.session(settings=settings, seed=SEED, place=place) for place in range(4)]


def answer(session: Session, prompt: str) -> list[Round]:
    return list(session.answer([Message("user", prompt)], 0))


def together(answering: Sequence[Session], prompts: Sequence[str] = PROMPTS) -> list[list[Round]]:
    with ThreadPoolExecutor(len(answering)) as threads:
        return list(threads.map(answer, answering, prompts))


def wait_for_the_others(session: Session, all_begun: Barrier) -> None:
    if session.stats.num_rounds == 0:
        all_begun.wait(600)


@pytest.mark.parametrize("drafter", ["model", "lookup", "hybrid", "none"])
def test_a_text_does_not_depend_on_its_neighbours(engine: Engine, drafter: str) -> None:
    settings = replace(SETTINGS, drafter=drafter, k="auto" if drafter == "hybrid" else 3)
    at_once = sessions(engine, settings)
    together(at_once)
    texts = [session.text for session in at_once]
    one_by_one = sessions(engine, settings)
    for session, prompt in zip(one_by_one, PROMPTS, strict=True):
        answer(session, prompt)
    assert texts == [session.text for session in one_by_one]


@pytest.mark.parametrize("architecture", RECURRENT)
def test_so_it_is_with_recurrent_states(tmp_path: Path, architecture: str) -> None:
    settings = replace(SETTINGS, drafter="lookup", sampling=SamplingParams(temperature=0.0))
    with Engine.load(write_memory_model(tmp_path / "model.gguf", architecture), None, OPTIONS) as engine:
        for prompts in (PROMPTS, PROMPTS[::-1], [prompt * 3 for prompt in PROMPTS]):
            at_once = sessions(engine, settings)
            together(at_once, prompts)
            texts = [session.answer_ids for session in at_once]
            one_by_one = sessions(engine, settings)
            for session, prompt in zip(one_by_one, prompts, strict=True):
                answer(session, prompt)
            assert texts == [session.answer_ids for session in one_by_one]


def test_answers_share_passes(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from specchat_engine.llama.native import NativeContext

    shared: list[int] = []
    callers: set[int] = set()
    compute = NativeContext.compute

    def counting(context: NativeContext, parts: Sequence[object]) -> object:
        callers.add(get_ident())
        if context.max_rows > 1:
            shared.append(len(parts))
        return compute(context, parts)  # type: ignore[arg-type]

    monkeypatch.setattr(NativeContext, "compute", counting)
    at_once = sessions(engine)
    all_begun = Barrier(4)
    for session in at_once:
        session.hold = partial(wait_for_the_others, session, all_begun)
    together(at_once)
    assert 4 in shared
    assert len(callers) == 1, "OpenMP has one team of threads for each caller"


def test_what_prompts_begin_with_is_read_once(engine: Engine) -> None:
    first, second, *_ = sessions(engine)
    question = [Message("user", "A long question that both of them ask. " * 5)]
    list(first.answer(question, 0))
    memory = second.pair.target
    assert memory.length == 0
    before = memory.busy_ns
    second.prepare(question, bool)
    assert memory.length > 50
    assert memory.busy_ns == before, "nothing was read"
    list(second.answer(question, 0))
    assert second.stats.cached_tokens == second.stats.prompt_tokens - 1


def test_an_answer_that_is_given_alone_has_the_memory_alone(
    files: EngineFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, copied = api.llama_state_seq_get_data, []

    def recorded(handle: Any, data: Any, size: int, sequence: int) -> int:
        copied.append((handle, sequence))
        return int(copy(handle, data, size, sequence))

    monkeypatch.setattr(api, "llama_state_seq_get_data", recorded)
    with Engine.load(files.target, files.draft, replace(OPTIONS, flash_attention="off")) as engine:
        first, second, *_ = sessions(engine)
        answer(first, PROMPTS[0])
        assert not copied
        answer(second, PROMPTS[1])
        assert len({handle for handle, sequence in copied if sequence == 0}) == 2, "the target's and the draft model's"
        text = first.text
        answer(first, PROMPTS[0])
        assert first.text == text
        assert first.stats.cached_tokens == first.stats.prompt_tokens - 1, "it came back"


def test_an_answer_can_end_while_others_go_on(engine: Engine) -> None:
    answering = sessions(engine)
    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(answer, *pair) for pair in zip(answering[1:], PROMPTS[1:], strict=True)]
        rounds = answering[0].answer([Message("user", "Hello")], 0)
        next(rounds)
        answering[0].cancel()
        list(rounds)
        assert all(future.result() for future in running)
    assert answering[0].end_reason == "cancelled"
    assert {session.end_reason for session in answering[1:]} <= {"end", "length"}


def test_an_answer_that_is_not_read_on_holds_nobody_up(engine: Engine) -> None:
    waiting, other, *_ = sessions(engine)
    rounds = waiting.answer([Message("user", "Hello")], 0)
    next(rounds)
    assert answer(other, "Hello there")
    assert next(rounds)


def test_an_answer_may_be_read_on_in_another_thread(engine: Engine) -> None:
    wandering, other, *_ = sessions(engine)
    rounds = wandering.answer([Message("user", "Hello")], 0)
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        assert first.submit(next, rounds).result(timeout=600)
        assert second.submit(answer, other, "Hello there").result(timeout=600)
        assert second.submit(list, rounds).result(timeout=600)
        assert first.submit(answer, other, "Hello there").result(timeout=600)
    assert wandering.end_reason in ("end", "length")


def test_nothing_is_forgotten_while_an_answer_is_open(engine: Engine, tmp_path: Path) -> None:
    *_, last = sessions(engine)
    rounds = last.answer([Message("user", "Hello")], 0)
    first = next(rounds)
    with pytest.raises(EngineError, match="forget what was read when they have ended"):
        engine.forget()
    with pytest.raises(EngineError, match="restore what was read"):
        engine.restore_memory(tmp_path)
    text = first.text + "".join(event.text for event in rounds)
    engine.forget()
    answer(last, "Hello")
    assert last.text == text


def test_closing_the_engine_ends_all_answers(files: EngineFiles) -> None:
    engine = Engine.load(files.target, files.draft, replace(OPTIONS, parallel=2))
    one, other = (engine.session(settings=replace(SETTINGS, max_tokens=400), seed=1, place=place) for place in (0, 1))
    with ThreadPoolExecutor(2) as threads:
        rounds = one.answer([Message("user", "Hello")], 0)
        next(rounds)
        running = threads.submit(answer, other, "Hello there")
        engine.close()
        with pytest.raises(DecodeError, match="closed"):
            running.result()
        with pytest.raises((DecodeError, EngineError)):
            list(rounds)


def test_a_place_that_is_not_there_is_refused(engine: Engine) -> None:
    with pytest.raises(SettingError, match="place 4 is not there: 4 answers"):
        engine.session(place=4)


def test_no_draft_is_exchanged_where_several_answers_can_be_given_at_a_time(engine: Engine, files: EngineFiles) -> None:
    with pytest.raises(EngineError, match="parallel 1"):
        engine.exchange_draft(files.draft)


def test_a_draft_that_is_added_drafts_in_every_place(files: EngineFiles) -> None:
    with Engine.load(files.target, files.draft, OPTIONS) as engine:
        answering = sessions(engine)
        engine.add_draft(files.short)
        for session in answering:
            session.settings = replace(session.settings, drafter="model-2")
        assert {event.source for rounds in together(answering) for event in rounds if event.drafted} == {"model-2"}


def test_an_empty_place_says_where_a_prompt_parts_from_those_of_others(engine: Engine) -> None:
    engine.forget()
    first, second, third = (engine.session(settings=replace(SETTINGS, max_tokens=2), place=place) for place in range(3))
    for session, number in ((first, 17), (second, 42), (third, 42)):
        [*session.answer([Message("system", f"cch={number} {'Be brief. ' * 20}"), Message("user", "Hi")], 0)]
    assert first.cache_miss == ""
    assert "no text there goes on with '42" in second.cache_miss
    assert third.cache_miss == "", "it took over what the second one had read"
