"""The client with the real engine process on tiny models."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.engine_process.conftest import ENDLESS, HELLO, OPTIONS, SHORT, answer, last_of, load, process_of, text_of
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import ChatMessage, Ended, Event, Loaded, Loading, Prepare, Started, TaskFailed
from specchat_engine.decoding.rounds import Round
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import UNAIDED
from support.tiny_models import TinyModels, write_tiny_model


def test_a_pair_is_loaded_with_progress_and_its_description(client: LocalClient, tiny_models: TinyModels) -> None:
    *progress, last = client.load(tiny_models.target, tiny_models.draft, OPTIONS)
    assert all(isinstance(event, Loading) for event in progress)
    assert isinstance(last, Loaded)
    assert (last.target.name, last.drafters, last.refusal, last.n_ctx) == (
        "target",
        ("hybrid", "model", "lookup", *UNAIDED, "none"),
        None,
        4096,
    )
    assert last.draft is not None
    assert last.recommended.temperature == pytest.approx(0.7)


def test_an_answer_is_started_its_rounds_and_its_end_and_its_text_is_the_seeds(loaded: LocalClient) -> None:
    started, *rounds, end = answer(loaded)
    assert isinstance(started, Started)
    assert started.line["messages"] == [{"role": "user", "content": "hello"}]
    assert all(isinstance(event, Round) for event in rounds)
    assert isinstance(end, Ended)
    assert end.reason == "length"
    assert end.text == "".join(event.text for event in rounds if isinstance(event, Round))
    assert end.stats["num_tokens"] == 8
    assert text_of(answer(loaded)) == end.text
    assert text_of(answer(loaded, seed=8)) != end.text


def test_what_is_read_ahead_changes_nothing_but_the_waiting(fresh: LocalClient, tiny_models: TinyModels) -> None:
    fresh.prepare(Prepare(HELLO, seed=7, settings=SHORT))
    load(fresh, tiny_models)
    texts = [text_of(answer(fresh))]
    for read in ("hel", "hello", "something else " * 40, "x" * 100_000):
        fresh.prepare(Prepare((ChatMessage("user", read),), seed=7, settings=SHORT))
        texts.append(text_of(answer(fresh)))
    assert texts == [texts[0]] * 5


def test_what_one_conversation_said_drafts_for_the_next(loaded: LocalClient) -> None:
    settings = replace(SHORT, k=8, drafter="lookup", max_tokens=40, sampling=SamplingParams(temperature=0.0))
    first, other = (list(answer(loaded, settings, seed)) for seed in (1, 2))
    assert text_of(other) == text_of(first)
    drafted = [event.num_accepted for event in other if isinstance(event, Round)]
    assert drafted[:4] == [8, 8, 8, 8], "from its first token on"


def test_settings_that_the_pair_cannot_serve_are_refused_in_every_conversation(loaded: LocalClient) -> None:
    assert text_of(answer(loaded, seed=1))
    for seed in (2, 3):
        last = last_of(TaskFailed, answer(loaded, replace(SHORT, k=OPTIONS.k_max + 1), seed))
        assert "loaded for at most" in last.message
    assert text_of(answer(loaded, seed=2))


def test_a_load_that_was_begun_early_happens_once_and_only_if_it_is_the_one_that_is_wanted(
    fresh: LocalClient, tiny_models: TinyModels
) -> None:
    fresh.begin_load(tiny_models.target, tiny_models.draft, OPTIONS)
    begun = process_of(fresh)
    events = list(fresh.load(tiny_models.target, tiny_models.draft, OPTIONS))
    assert [type(event) for event in events if not isinstance(event, Loading)] == [Loaded]
    assert text_of(answer(fresh))
    fresh.begin_load(tiny_models.target, tiny_models.draft, OPTIONS)
    last = last_of(Loaded, fresh.load(tiny_models.target, None, OPTIONS))
    assert last.draft is None
    assert text_of(answer(fresh))
    assert process_of(fresh) is begun


def test_a_process_that_died_while_it_loaded_what_was_begun_is_started_again(
    fresh: LocalClient, tiny_models: TinyModels
) -> None:
    fresh.begin_load(tiny_models.target, tiny_models.draft, OPTIONS)
    os.kill(process_of(fresh).pid, signal.SIGKILL)
    process_of(fresh).wait()
    load(fresh, tiny_models)


def test_threads_change_while_an_answer_streams_and_stay_when_the_engine_died(own: LocalClient) -> None:
    settings = replace(ENDLESS, max_tokens=150)
    before = list(answer(own, settings))
    assert isinstance(before[0], Started)
    assert before[0].line["machine"]["threads"] == 1
    changed = []
    for event in answer(own, settings):
        changed.append(event)
        if len(changed) == 3:
            own.use_threads(replace(OPTIONS, threads=2, threads_draft=2))
    assert text_of(changed) == text_of(before)
    for dies in (True, False):
        started = next(event for event in answer(own) if isinstance(event, Started))
        assert (started.line["machine"]["threads"], started.line["machine"]["threads_draft"]) == (2, 2)
        if dies:
            process_of(own).kill()
            process_of(own).wait()


def test_a_draft_that_does_not_fit_is_left_out_with_a_reason(
    client: LocalClient, tiny_models: TinyModels, tmp_path: Path
) -> None:
    draft = write_tiny_model(tmp_path / "silent.gguf", merges=())
    last = last_of(Loaded, client.load(tiny_models.target, draft, OPTIONS))
    assert (last.draft, last.drafters) == (None, ("hybrid", "lookup", *UNAIDED, "none"))
    assert last.refusal is not None
    assert "lists no tokens" in last.refusal
    assert last_of(Ended, answer(client, replace(SHORT, drafter="lookup")))


def test_a_draft_with_another_vocabulary_drafts_through_text_and_says_why(
    client: LocalClient, tiny_models: TinyModels
) -> None:
    last = last_of(Loaded, client.load(tiny_models.target, tiny_models.stranger, OPTIONS))
    assert last.refusal is None
    assert last.draft is not None
    assert "vocabularies differ from token 260 on" in last.translated_because
    events = list(answer(client, replace(SHORT, drafter="model", k=4)))
    assert isinstance(events[-1], Ended)
    assert "translated" in {event.source for event in events if isinstance(event, Round)}


def test_a_file_that_is_no_model_fails_and_the_process_lives_on(
    client: LocalClient, tiny_models: TinyModels, tmp_path: Path
) -> None:
    junk = tmp_path / "junk.gguf"
    junk.write_bytes(b"junk")
    last = last_of(TaskFailed, client.load(junk, None, OPTIONS))
    assert not last.died
    assert "not a GGUF file" in last.message
    assert client.alive
    load(client, tiny_models)


def test_nothing_is_generated_before_a_model_is_loaded(fresh: LocalClient) -> None:
    assert list(answer(fresh)) == [TaskFailed("no model is loaded yet")]


def test_a_cancel_ends_the_answer_also_before_it_was_sent_and_the_next_one_works(loaded: LocalClient) -> None:
    for cancelled_at in (None, 2):
        waiting = answer(loaded, ENDLESS)
        if cancelled_at is None:
            loaded.cancel()
        last: Event | None = None
        for last in waiting:
            if isinstance(last, Round) and last.index == cancelled_at:
                loaded.cancel()
        assert isinstance(last, Ended)
        assert last.reason == "cancelled", cancelled_at
        assert text_of(answer(loaded)), cancelled_at


def test_new_settings_are_in_force_in_mid_answer(loaded: LocalClient) -> None:
    seen = []
    for event in answer(loaded, ENDLESS):
        if isinstance(event, Round):
            seen.append(event.k)
            if event.index == 1:
                loaded.set(replace(ENDLESS, k=0))
            if 0 in seen:
                loaded.cancel()
    assert seen[0] == 2
    assert 0 in seen


def test_an_abandoned_answer_does_not_disturb_the_next_one(loaded: LocalClient) -> None:
    expected = text_of(answer(loaded))
    with closing(answer(loaded, ENDLESS)) as events:  # type: ignore[type-var]
        next(events)
    assert text_of(answer(loaded)) == expected


def test_a_killed_process_is_one_failure_and_the_next_answer_starts_another(own: LocalClient) -> None:
    expected = text_of(answer(own))
    events: list[Event] = []
    for event in answer(own, ENDLESS):
        events.append(event)
        if isinstance(event, Round) and event.index == 1:
            process_of(own).send_signal(signal.SIGKILL)
    failures = [event for event in events if isinstance(event, TaskFailed)]
    assert len(failures) == 1
    assert events[-1] is failures[0]
    assert failures[0].died
    assert "SIGKILL" in failures[0].message
    assert not own.alive
    again = list(answer(own))
    assert any(isinstance(event, Loaded) for event in again)
    assert text_of(again) == expected
    process_of(own).kill()
    process_of(own).wait()
    assert not own.alive
    assert last_of(Ended, answer(own)), "also if it died between answers"


def test_without_a_place_for_its_log_the_engine_works_all_the_same(tmp_path: Path, tiny_models: TinyModels) -> None:
    (tmp_path / "file").touch()
    with closing(LocalClient(tmp_path / "file" / "worker.log")) as client:
        load(client, tiny_models)
        rounds = answer(client, ENDLESS)
        assert isinstance(next(rounds), Started)
        process_of(client).kill()
        last = last_of(TaskFailed, rounds)
        assert "SIGKILL" in last.message
