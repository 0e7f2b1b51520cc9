"""The client with the real engine process on tiny models."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.engine_process.conftest import ENDLESS, HELLO, OPTIONS, SHORT, answer, process_of, text_of
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import ChatMessage, Ended, Event, Loaded, Loading, Prepare, Started, TaskFailed
from specchat_engine.decoding.rounds import Round
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import UNAIDED
from support.tiny_models import TinyModels, write_tiny_model


def test_what_is_read_ahead_changes_nothing_but_the_waiting(client: LocalClient, tiny_models: TinyModels) -> None:
    client.prepare(Prepare(HELLO, seed=7, settings=SHORT))
    list(client.load(tiny_models.target, tiny_models.draft, OPTIONS))
    texts = [text_of(list(answer(client)))]
    for read in ("hel", "hello", "something else " * 40, "x" * 100_000):
        client.prepare(Prepare((ChatMessage("user", read),), seed=7, settings=SHORT))
        texts.append(text_of(list(answer(client))))
    assert texts == [texts[0]] * 5


def test_what_one_conversation_said_drafts_for_the_next(loaded: LocalClient) -> None:
    settings = replace(SHORT, k=8, drafter="lookup", max_tokens=40, sampling=SamplingParams(temperature=0.0))
    first, other = (list(answer(loaded, settings, seed)) for seed in (1, 2))
    assert text_of(other) == text_of(first)
    drafted = [event.num_accepted for event in other if isinstance(event, Round)]
    assert drafted[:4] == [8, 8, 8, 8], "from its first token on"


def test_settings_that_the_pair_cannot_serve_are_refused_in_every_conversation(loaded: LocalClient) -> None:
    assert text_of(list(answer(loaded, seed=1)))
    for seed in (2, 3):
        last = list(answer(loaded, replace(SHORT, k=OPTIONS.k_max + 1), seed))[-1]
        assert isinstance(last, TaskFailed)
        assert "loaded for at most" in last.message
    assert text_of(list(answer(loaded, seed=2)))


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


def test_a_load_that_was_begun_early_happens_once_and_reports_to_the_next_load(
    client: LocalClient, tiny_models: TinyModels
) -> None:
    client.begin_load(tiny_models.target, tiny_models.draft, OPTIONS)
    begun = process_of(client)
    events = list(client.load(tiny_models.target, tiny_models.draft, OPTIONS))
    assert [type(event) for event in events if not isinstance(event, Loading)] == [Loaded]
    assert text_of(list(answer(client)))
    assert process_of(client) is begun


def test_another_pair_than_the_one_that_was_begun_is_the_one_that_is_loaded(
    client: LocalClient, tiny_models: TinyModels
) -> None:
    client.begin_load(tiny_models.target, tiny_models.draft, OPTIONS)
    *_, last = client.load(tiny_models.target, None, OPTIONS)
    assert isinstance(last, Loaded)
    assert last.draft is None
    assert text_of(list(answer(client)))


def test_a_process_that_died_while_it_loaded_what_was_begun_is_started_again(
    client: LocalClient, tiny_models: TinyModels
) -> None:
    client.begin_load(tiny_models.target, tiny_models.draft, OPTIONS)
    os.kill(process_of(client).pid, signal.SIGKILL)
    process_of(client).wait()
    *_, last = client.load(tiny_models.target, tiny_models.draft, OPTIONS)
    assert isinstance(last, Loaded)


def test_threads_change_while_an_answer_streams_and_stay_when_the_engine_died(loaded: LocalClient) -> None:
    settings = replace(ENDLESS, max_tokens=150)
    before = list(answer(loaded, settings))
    assert isinstance(before[0], Started)
    assert before[0].line["machine"]["threads"] == 1
    changed = []
    for event in answer(loaded, settings):
        changed.append(event)
        if len(changed) == 3:
            loaded.use_threads(replace(OPTIONS, threads=2, threads_draft=2))
    assert text_of(changed) == text_of(before)
    for _ in range(2):
        started = next(event for event in answer(loaded) if isinstance(event, Started))
        assert (started.line["machine"]["threads"], started.line["machine"]["threads_draft"]) == (2, 2)
        process_of(loaded).kill()
        process_of(loaded).wait()


def test_an_answer_is_started_its_rounds_and_its_end(loaded: LocalClient) -> None:
    started, *rounds, end = answer(loaded)
    assert isinstance(started, Started)
    assert started.line["messages"] == [{"role": "user", "content": "hello"}]
    assert all(isinstance(event, Round) for event in rounds)
    assert isinstance(end, Ended)
    assert end.reason == "length"
    assert end.text == "".join(event.text for event in rounds if isinstance(event, Round))
    assert end.stats["num_tokens"] == 8


def test_the_same_seed_gives_the_same_text_and_another_one_another(loaded: LocalClient) -> None:
    assert text_of(list(answer(loaded))) == text_of(list(answer(loaded)))
    assert text_of(list(answer(loaded, seed=8))) != text_of(list(answer(loaded)))


def test_a_draft_that_does_not_fit_is_left_out_with_a_reason(
    client: LocalClient, tiny_models: TinyModels, tmp_path: Path
) -> None:
    draft = write_tiny_model(tmp_path / "silent.gguf", merges=())
    last = list(client.load(tiny_models.target, draft, OPTIONS))[-1]
    assert isinstance(last, Loaded)
    assert (last.draft, last.drafters) == (None, ("lookup", *UNAIDED, "none"))
    assert last.refusal is not None
    assert "lists no tokens" in last.refusal
    assert isinstance(list(answer(client, replace(SHORT, drafter="lookup")))[-1], Ended)


def test_a_draft_with_another_vocabulary_drafts_through_text_and_says_why(
    client: LocalClient, tiny_models: TinyModels
) -> None:
    last = list(client.load(tiny_models.target, tiny_models.stranger, OPTIONS))[-1]
    assert isinstance(last, Loaded)
    assert last.refusal is None
    assert last.draft is not None
    assert "vocabularies differ from token 260 on" in last.translated_because
    told = list(answer(client, replace(SHORT, drafter="model", k=4)))
    assert isinstance(told[-1], Ended)
    assert "translated" in {event.source for event in told if isinstance(event, Round)}


def test_a_file_that_is_no_model_fails_and_the_process_lives_on(
    client: LocalClient, tiny_models: TinyModels, tmp_path: Path
) -> None:
    junk = tmp_path / "junk.gguf"
    junk.write_bytes(b"junk")
    last = list(client.load(junk, None, OPTIONS))[-1]
    assert isinstance(last, TaskFailed)
    assert not last.died
    assert "not a GGUF file" in last.message
    assert client.alive
    assert isinstance(list(client.load(tiny_models.target, None, OPTIONS))[-1], Loaded)


def test_nothing_is_generated_before_a_model_is_loaded(client: LocalClient) -> None:
    assert list(answer(client)) == [TaskFailed("no model is loaded yet")]


def test_a_cancel_before_the_command_was_sent_ends_the_answer(loaded: LocalClient) -> None:
    waiting = answer(loaded, ENDLESS)
    loaded.cancel()
    *_, last = waiting
    assert isinstance(last, Ended)
    assert last.reason == "cancelled"
    assert text_of(list(answer(loaded)))


def test_a_cancel_ends_the_answer_and_the_next_one_works(loaded: LocalClient) -> None:
    events: list[Event] = []
    for event in answer(loaded, ENDLESS):
        events.append(event)
        if isinstance(event, Round) and event.index == 2:
            loaded.cancel()
    assert isinstance(events[-1], Ended)
    assert events[-1].reason == "cancelled"
    assert isinstance(list(answer(loaded))[-1], Ended)


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
    with closing(answer(loaded, ENDLESS)) as events:  # type: ignore[type-var]
        next(events)
    assert text_of(list(answer(loaded))) == text_of(list(answer(loaded)))


def test_a_killed_process_is_one_failure_and_the_next_answer_starts_another(loaded: LocalClient) -> None:
    expected = text_of(list(answer(loaded)))
    events: list[Event] = []
    for event in answer(loaded, ENDLESS):
        events.append(event)
        if isinstance(event, Round) and event.index == 1:
            process_of(loaded).send_signal(signal.SIGKILL)
    failures = [event for event in events if isinstance(event, TaskFailed)]
    assert len(failures) == 1
    assert events[-1] is failures[0]
    assert failures[0].died
    assert "SIGKILL" in failures[0].message
    assert not loaded.alive
    again = list(answer(loaded))
    assert any(isinstance(event, Loaded) for event in again)
    assert text_of(again) == expected


def test_a_process_killed_between_answers_is_started_again_silently(loaded: LocalClient) -> None:
    process = process_of(loaded)
    process.kill()
    process.wait()
    assert not loaded.alive
    assert isinstance(list(answer(loaded))[-1], Ended)


def test_without_a_place_for_its_log_the_engine_works_all_the_same(tmp_path: Path, tiny_models: TinyModels) -> None:
    (tmp_path / "file").touch()
    with closing(LocalClient(tmp_path / "file" / "worker.log")) as client:
        assert isinstance(list(client.load(tiny_models.target, tiny_models.draft, OPTIONS))[-1], Loaded)
        rounds = answer(client, ENDLESS)
        assert isinstance(next(rounds), Started)
        process_of(client).kill()
        last = list(rounds)[-1]
        assert isinstance(last, TaskFailed)
        assert "SIGKILL" in last.message
