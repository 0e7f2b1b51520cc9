"""The client with the real engine process on tiny models."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.worker.conftest import OPTIONS
from specchat.worker.client import WorkerClient
from specchat.worker.protocol import ChatMessage, Ended, Event, Loaded, Loading, Started, WorkerFailed
from specchat_engine import Settings
from specchat_engine.params import SamplingParams
from specchat_engine.rounds import Round
from support.tiny_models import write_tiny_model
from support.tiny_pair import TinyModels

HELLO = (ChatMessage("user", "hello"),)
# Greedy, these models never end an answer, and the whole of it is more than a pipe holds: the process has to wait.
ENDLESS = Settings(k=2, sampling=SamplingParams(temperature=0.0))
SHORT = Settings(k=2, max_tokens=8)


def answer(client: WorkerClient, settings: Settings = SHORT, seed: int = 7) -> Iterator[Event]:
    return client.generate(HELLO, turn=0, attempt=0, seed=seed, settings=settings)


def test_what_is_read_ahead_changes_nothing_but_the_waiting(client: WorkerClient, tiny_models: TinyModels) -> None:
    client.prepare(HELLO, seed=7, settings=SHORT)
    list(client.load(tiny_models.target, tiny_models.draft, OPTIONS))
    texts = [text_of(list(answer(client)))]
    for read in ("hel", "hello", "something else " * 40, "x" * 100_000):
        client.prepare((ChatMessage("user", read),), seed=7, settings=SHORT)
        texts.append(text_of(list(answer(client))))
    assert texts == [texts[0]] * 5


def process_of(client: WorkerClient) -> subprocess.Popen[bytes]:
    process = client._process.child
    assert process is not None
    return process


def text_of(events: list[Event]) -> str:
    assert isinstance(events[-1], Ended)
    return events[-1].text


def test_a_pair_is_loaded_with_progress_and_its_description(client: WorkerClient, tiny_models: TinyModels) -> None:
    *progress, last = client.load(tiny_models.target, tiny_models.draft, OPTIONS)
    assert all(isinstance(event, Loading) for event in progress)
    assert isinstance(last, Loaded)
    assert (last.target.name, last.drafters, last.refusal, last.n_ctx) == (
        "target",
        ("hybrid", "model", "lookup", "none"),
        None,
        4096,
    )
    assert last.draft is not None
    assert last.recommended.temperature == pytest.approx(0.7)


def test_a_pair_that_was_begun_is_loaded_once_and_told_of_to_who_loads_it(
    client: WorkerClient, tiny_models: TinyModels
) -> None:
    client.begin_load(tiny_models.target, tiny_models.draft, OPTIONS)
    begun = process_of(client)
    events = list(client.load(tiny_models.target, tiny_models.draft, OPTIONS))
    assert [type(event) for event in events if not isinstance(event, Loading)] == [Loaded]
    assert text_of(list(answer(client)))
    assert process_of(client) is begun


def test_another_pair_than_the_one_that_was_begun_is_the_one_that_is_loaded(
    client: WorkerClient, tiny_models: TinyModels
) -> None:
    client.begin_load(tiny_models.target, tiny_models.draft, OPTIONS)
    *_, last = client.load(tiny_models.target, None, OPTIONS)
    assert isinstance(last, Loaded)
    assert last.draft is None
    assert text_of(list(answer(client)))


def test_a_process_that_died_while_it_loaded_what_was_begun_is_started_again(
    client: WorkerClient, tiny_models: TinyModels
) -> None:
    client.begin_load(tiny_models.target, tiny_models.draft, OPTIONS)
    os.kill(process_of(client).pid, signal.SIGKILL)
    process_of(client).wait()
    *_, last = client.load(tiny_models.target, tiny_models.draft, OPTIONS)
    assert isinstance(last, Loaded)


def test_threads_change_while_an_answer_streams_and_stay_when_the_engine_died(loaded: WorkerClient) -> None:
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


def test_an_answer_is_started_its_rounds_and_its_end(loaded: WorkerClient) -> None:
    started, *rounds, end = answer(loaded)
    assert isinstance(started, Started)
    assert started.line["messages"] == [{"role": "user", "content": "hello"}]
    assert all(isinstance(event, Round) for event in rounds)
    assert isinstance(end, Ended)
    assert end.reason == "length"
    assert end.text == "".join(event.text for event in rounds if isinstance(event, Round))
    assert end.stats["num_tokens"] == 8


def test_the_same_seed_gives_the_same_text_and_another_one_another(loaded: WorkerClient) -> None:
    assert text_of(list(answer(loaded))) == text_of(list(answer(loaded)))
    assert text_of(list(answer(loaded, seed=8))) != text_of(list(answer(loaded)))


def test_a_draft_that_does_not_fit_is_left_out_and_the_reason_told(
    client: WorkerClient, tiny_models: TinyModels, tmp_path: Path
) -> None:
    draft = write_tiny_model(tmp_path / "silent.gguf", merges=())
    last = list(client.load(tiny_models.target, draft, OPTIONS))[-1]
    assert isinstance(last, Loaded)
    assert (last.draft, last.drafters) == (None, ("lookup", "none"))
    assert last.refusal is not None
    assert "lists no tokens" in last.refusal
    assert isinstance(list(answer(client, replace(SHORT, drafter="lookup")))[-1], Ended)


def test_a_draft_with_another_vocabulary_drafts_through_text_and_the_reason_is_told(
    client: WorkerClient, tiny_models: TinyModels
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
    client: WorkerClient, tiny_models: TinyModels, tmp_path: Path
) -> None:
    junk = tmp_path / "junk.gguf"
    junk.write_bytes(b"junk")
    last = list(client.load(junk, None, OPTIONS))[-1]
    assert isinstance(last, WorkerFailed)
    assert not last.died
    assert "not a GGUF file" in last.message
    assert client.alive
    assert isinstance(list(client.load(tiny_models.target, None, OPTIONS))[-1], Loaded)


def test_nothing_is_generated_before_a_model_is_loaded(client: WorkerClient) -> None:
    assert list(answer(client)) == [WorkerFailed("no model is loaded yet")]


def test_a_cancel_ends_the_answer_and_the_next_one_works(loaded: WorkerClient) -> None:
    events: list[Event] = []
    for event in answer(loaded, ENDLESS):
        events.append(event)
        if isinstance(event, Round) and event.index == 2:
            loaded.cancel()
    assert isinstance(events[-1], Ended)
    assert events[-1].reason == "cancelled"
    assert isinstance(list(answer(loaded))[-1], Ended)


def test_new_settings_are_in_force_in_mid_answer(loaded: WorkerClient) -> None:
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


def test_an_answer_that_nobody_listens_to_any_more_does_not_disturb_the_next(loaded: WorkerClient) -> None:
    with closing(answer(loaded, ENDLESS)) as events:  # type: ignore[type-var]
        next(events)
    assert text_of(list(answer(loaded))) == text_of(list(answer(loaded)))


def test_a_killed_process_is_one_failure_and_the_next_answer_starts_another(loaded: WorkerClient) -> None:
    expected = text_of(list(answer(loaded)))
    events: list[Event] = []
    for event in answer(loaded, ENDLESS):
        events.append(event)
        if isinstance(event, Round) and event.index == 1:
            process_of(loaded).send_signal(signal.SIGKILL)
    failures = [event for event in events if isinstance(event, WorkerFailed)]
    assert len(failures) == 1
    assert events[-1] is failures[0]
    assert failures[0].died
    assert "SIGKILL" in failures[0].message
    assert not loaded.alive
    again = list(answer(loaded))
    assert any(isinstance(event, Loaded) for event in again)
    assert text_of(again) == expected


def test_a_process_killed_between_answers_is_started_again_silently(loaded: WorkerClient) -> None:
    process = process_of(loaded)
    process.kill()
    process.wait()
    assert not loaded.alive
    assert isinstance(list(answer(loaded))[-1], Ended)


def test_a_crash_in_native_code_is_told_with_its_last_words(client: WorkerClient, tmp_path: Path) -> None:
    # An interpreter hook stands in for llama.cpp: it writes an assertion to descriptor 1 and aborts.
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if 'specchat.worker' in sys.orig_argv:\n"
        "    os.write(2, b'/build/a.cpp:1: GGML_ASSERT(x) failed\\n')\n"
        "    os.abort()\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(hook), os.environ.get("PYTHONPATH", "")]))
        last = list(client.load(tmp_path / "any.gguf", None, OPTIONS))[-1]
    assert isinstance(last, WorkerFailed)
    assert last.died
    assert "SIGABRT" in last.message
    assert last.message.endswith(f"a.cpp:1: GGML_ASSERT(x) failed; it was loading {tmp_path / 'any.gguf'}")


def test_closing_ends_a_running_answer_and_leaves_no_process(loaded: WorkerClient) -> None:
    process = process_of(loaded)
    events: list[Event] = []
    running = threading.Event()

    def listen() -> None:
        for event in answer(loaded, ENDLESS):
            events.append(event)
            running.set()

    thread = threading.Thread(target=listen)
    thread.start()
    assert running.wait(20)
    loaded.close()
    thread.join(20)
    assert not thread.is_alive()
    assert process.returncode is not None
    assert isinstance(events[-1], Ended | WorkerFailed)
    assert list(answer(loaded))[-1] == WorkerFailed(
        "the engine's process cannot be started: the engine was closed", died=True
    )


def test_a_process_that_stopped_obeying_is_ended_by_force(loaded: WorkerClient) -> None:
    process = process_of(loaded)
    process.send_signal(signal.SIGSTOP)
    loaded.close()
    assert process.returncode == -signal.SIGKILL


def test_ctrl_c_on_the_terminal_does_not_end_the_process(loaded: WorkerClient) -> None:
    process_of(loaded).send_signal(signal.SIGINT)
    assert isinstance(list(answer(loaded))[-1], Ended)


def test_the_process_ends_by_itself_when_the_application_is_gone(tiny_models: TinyModels) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "specchat.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    settings = {"k": 2, "max_tokens": 0}
    load = {"cmd": "load", "target": str(tiny_models.target), "draft": None, "options": {"threads": 1}}
    ask = {
        "cmd": "generate",
        "turn": 0,
        "seed": 1,
        "messages": [{"role": "user", "content": "hi"}],
        "settings": settings,
    }
    assert process.stdin is not None
    process.stdin.write("".join(json.dumps(command) + "\n" for command in (load, ask)).encode())
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_the_client_keeps_the_engine_out_of_its_own_process(tmp_path: Path, tiny_models: TinyModels) -> None:
    code = (
        "import sys; from pathlib import Path; from specchat.worker.client import WorkerClient;"
        "from specchat_engine import LoadOptions, Settings; client = WorkerClient(Path(sys.argv[1]));"
        "events = list(client.load(Path(sys.argv[2]), None, LoadOptions(threads=1))); client.close();"
        "print(type(events[-1]).__name__, *{'numpy', 'llama_cpp', 'jinja2'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "log"), str(tiny_models.target)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["Loaded"]


def test_without_a_place_for_its_log_the_engine_works_all_the_same(tmp_path: Path, tiny_models: TinyModels) -> None:
    (tmp_path / "file").touch()
    with closing(WorkerClient(tmp_path / "file" / "worker.log")) as client:
        assert isinstance(list(client.load(tiny_models.target, tiny_models.draft, OPTIONS))[-1], Loaded)
        rounds = answer(client, ENDLESS)
        assert isinstance(next(rounds), Started)
        process_of(client).kill()
        last = list(rounds)[-1]
        assert isinstance(last, WorkerFailed)
        assert "SIGKILL" in last.message
