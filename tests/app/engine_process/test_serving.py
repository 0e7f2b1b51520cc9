"""The engine's process of a server from inside: what it does when something is wrong, and between answers."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest

from app.engine_process.conftest import records
from specchat.engine_process import answers
from specchat.engine_process.open_task import OpenTask
from specchat.engine_process.prompts import tokens_of
from specchat.engine_process.protocol import Cancel, Count, Ended, Load, Loaded, TaskFailed, TokenCount
from specchat.engine_process.records import Record
from specchat.engine_process.server import Server
from specchat.pipes import encode
from specchat_engine import Engine, LoadOptions, Round, Session
from specchat_engine.errors import DecodeError
from support.engine_thread import OPTIONS, EngineThread, serving
from support.serving import ENDLESS, SHORT, asking
from support.tiny_models import TinyModels

T = TypeVar("T")


@pytest.fixture
def process(tiny_models: TinyModels) -> Iterator[EngineThread]:
    with serving(tiny_models) as process:
        yield process


def test_an_error_that_nobody_foresaw_fails_one_request_in_one_line_and_empties_its_place(
    process: EngineThread, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    process.send(1, asking("hello"))
    expected = process.next(Ended)
    answer = Session.answer

    def failing(session: Session, *args: Any) -> Iterator[Any]:
        for event in answer(session, *args):
            yield event
            if session.seed == 99:
                raise ZeroDivisionError("several\nlines")

    monkeypatch.setattr(Session, "answer", failing)
    process.send(2, asking("hello", ENDLESS, seed=99))
    process.send(3, asking("hello"))
    failed = process.next(TaskFailed, 2)
    assert failed == TaskFailed("an unexpected ZeroDivisionError: several lines; the engine's log has more")
    assert "Traceback" in capfd.readouterr().err
    assert process.next(Ended, 3).text == expected.text
    for number in (4, 5):
        process.send(number, asking("hello"))
        assert process.next(Ended, number).text == expected.text


def test_a_failure_of_the_engine_is_not_the_requests_fault(
    process: EngineThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> Iterator[Any]:
        raise DecodeError("llama.cpp could not read 1 tokens")

    with monkeypatch.context() as patch:
        patch.setattr(Session, "answer", failing)
        process.send(1, asking("hello"))
        assert process.next(TaskFailed) == TaskFailed("llama.cpp could not read 1 tokens")
    process.send(2, asking("hello"))
    assert process.next(Ended, 2)


def test_more_requests_than_places_fail_at_once(process: EngineThread) -> None:
    for number in (1, 2, 3):
        process.send(number, asking("hello", ENDLESS))
    assert process.next(TaskFailed, 3) == TaskFailed("all places are taken: 2 answers can be given at a time")
    process.send(1, Cancel())
    process.send(2, Cancel())
    process.next(Ended)
    process.next(Ended)
    process.send(4, asking("hello"))
    assert process.next(Ended, 4).text


def test_with_one_place_a_count_and_a_cancel_wait_for_no_answer(tiny_models: TinyModels) -> None:
    with serving(tiny_models, replace(OPTIONS, parallel=1)) as process:
        process.send(1, asking("hello", ENDLESS))
        process.next(Round, 1)
        process.send(2, Count(asking("hello")))
        assert process.next(TokenCount, 2).tokens
        process.send(3, asking("hello", ENDLESS))
        process.send(3, Cancel())
        process.send(1, Cancel())
        assert process.next(Ended, 1).text
        cancelled = process.next(Ended, 3)
        assert (cancelled.reason, cancelled.text) == ("cancelled", "")
        process.send(4, asking("hello"))
        assert process.next(Ended, 4).text


def test_whoever_leaves_at_once_is_hardly_answered(process: EngineThread) -> None:
    process.send(1, asking("hello", ENDLESS), Cancel(), Cancel())
    process.send(77, Cancel())
    finished = process.next(Ended)
    assert finished.reason == "cancelled"
    assert finished.stats["num_rounds"] < 50


@dataclass
class Held:
    """Holds up all who call a function until `go_on` is set."""

    reached: queue.Queue[bool] = field(default_factory=queue.Queue)
    go_on: threading.Event = field(default_factory=threading.Event)

    def before(self, function: Callable[..., T]) -> Callable[..., T]:
        def held(*arguments: Any) -> T:
            self.reached.put(True)
            assert self.go_on.wait(600)
            return function(*arguments)

        return held


def test_whoever_leaves_before_the_prompt_is_read_is_not_answered(
    process: EngineThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held()
    monkeypatch.setattr(Session, "answer", held.before(Session.answer))
    process.send(1, asking("hello", ENDLESS, seed=1))
    assert held.reached.get(timeout=600)
    process.send(1, Cancel())
    process.send(2, asking("hello", seed=2))
    assert held.reached.get(timeout=600), "so the one before was heard"
    held.go_on.set()
    finished = process.next(Ended, 1)
    assert (finished.reason, finished.stats["num_rounds"]) == ("cancelled", 0)


def test_whoever_leaves_while_the_prompt_is_tokenized_has_nothing_read(
    process: EngineThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held()
    monkeypatch.setattr(answers, "tokens_of", held.before(tokens_of))
    process.send(1, asking("hello", ENDLESS))
    assert held.reached.get(timeout=600)
    process.send(1, Cancel())
    process.send(2, Count(asking("hello")))
    assert held.reached.get(timeout=600), "so the one before was heard"
    held.go_on.set()
    finished = process.next(Ended, 1)
    assert (finished.reason, finished.stats["prompt_tokens"]) == ("cancelled", 0)


def test_leaving_ends_the_answer_of_this_request_and_of_no_later_one() -> None:
    cancelled: list[int] = []
    task = OpenTask(1, asking("hello"))
    session = cast(Session, SimpleNamespace(cancel=lambda: cancelled.append(1), hold=None))
    with task.answered_by(session):
        task.cancel()
        assert cancelled == [1]
    task.cancel()
    assert cancelled == [1]


def test_a_request_that_cannot_be_read_fails(process: EngineThread) -> None:
    line = encode(asking("hello"), 1).replace(b'"k": 3', b'"k": "three"')
    process.commands.write(line + b"nonsense\n")
    assert process.next(TaskFailed, 1) == TaskFailed("the request has a value that the engine cannot read")


def test_other_models_replace_those_that_were_loaded(process: EngineThread, tiny_models: TinyModels) -> None:
    process.send(1, Load(str(tiny_models.target), None, OPTIONS, serves=True))
    assert process.next(Loaded, 1).draft is None
    process.send(2, asking("hello"))
    assert process.next(Ended, 2).text


def test_a_head_that_drafts_for_one_answer_at_a_time_is_left_out_with_a_reason(tiny_models: TinyModels) -> None:
    with serving(tiny_models, replace(OPTIONS, head="mtp")) as process:
        assert process.loaded
        assert process.loaded.refusal
        assert process.loaded.draft
        process.send(1, asking("hello", replace(SHORT, drafter="model")))
        assert process.next(Ended).stats["num_draft_tokens"]


def test_what_many_answers_taught_is_kept_once_and_recalled_at_the_next_start(
    tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Record] = []
    write = Record.write
    monkeypatch.setattr(Record, "write", lambda record: (kept.append(record), write(record)))
    with serving(tiny_models) as process:
        for number in range(1, 7):
            process.send(number, asking("hello"))
            process.next(Ended, number)
        assert not kept
    assert len(kept) == 1
    (before,) = records()
    assert before["acceptance"]
    with serving(tiny_models):
        pass
    assert records()[0]["acceptance"] == before["acceptance"]


def test_all_places_answer_with_what_was_learned_before_the_start_and_learn_more(
    tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tiny_models) as process:
        process.send(1, asking("hello"))
        process.next(Ended)
    (before,) = records()
    known: list[Any] = []
    answer = Session.answer

    def noting(session: Session, *args: Any) -> Iterator[Any]:
        with session.pair.lock:
            known.append(json.loads(json.dumps(session.pair.controller.to_json()["acceptance"])))
        return answer(session, *args)

    monkeypatch.setattr(Session, "answer", noting)
    with serving(tiny_models) as process:
        process.send(1, asking("hello", ENDLESS))
        process.next(Round)
        process.send(2, asking("hello"))
        process.next(Ended, 2)
        process.send(1, Cancel())
        process.next(Ended, 1)
    assert known[0] == before["acceptance"]
    assert before["acceptance"].keys() <= known[1].keys()
    assert records()[0]["acceptance"] != before["acceptance"]


def test_what_was_learned_is_kept_while_the_server_runs(
    tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: queue.Queue[Record] = queue.Queue()
    with serving(tiny_models, keep_every_s=0.0, quiet_s=3600.0) as process:
        monkeypatch.setattr(Engine, "measuring", lambda _: iter(()))
        process.send(1, asking("hello"))
        process.next(Ended)
        monkeypatch.setattr(Record, "write", lambda record: kept.put(record))
        process.send(2, asking("hello", ENDLESS))
        process.next(Round)
        process.send(3, asking("hello"))
        process.next(Ended, 3)
        assert kept.get(timeout=600), "although another answer still runs"
        process.send(2, Cancel())
        process.next(Ended, 2)


def test_passes_are_measured_only_while_nobody_is_answered_and_again_after_answers(
    process: EngineThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering: set[int] = set()
    seen: list[bool] = []
    begun: queue.Queue[bool] = queue.Queue()
    answer = Session.answer

    def watched(*arguments: Any) -> Iterator[Round]:
        answering.add(threading.get_ident())
        try:
            yield from answer(*arguments)
        finally:
            answering.remove(threading.get_ident())

    def measuring(engine: Engine) -> Iterator[None]:
        begun.put(True)
        while True:
            seen.append(bool(answering))
            yield

    monkeypatch.setattr(Session, "answer", watched)
    monkeypatch.setattr(Engine, "measuring", measuring)
    for number in range(1, 4):
        process.send(number, asking("hello"))
        process.next(Ended, number)
        assert begun.get(timeout=600)
    process.send(8, asking("hello"))
    process.send(9, asking("hello"))
    process.next(Ended)
    process.next(Ended)
    assert seen
    assert not any(seen)


def test_nothing_is_measured_until_nothing_was_asked_for_a_while(
    tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[bool] = []
    to_measure: queue.Queue[bool] = queue.Queue()

    def passes() -> Iterator[None]:
        while True:
            measured.append(True)
            yield

    def measuring(_: Engine) -> Iterator[None]:
        to_measure.put(True)
        return passes()

    monkeypatch.setattr(Engine, "measuring", measuring)
    with serving(tiny_models, quiet_s=3600.0) as process:
        assert to_measure.get(timeout=600)
        for number in range(1, 4):
            process.send(number, asking("hello"))
            process.next(Ended, number)
            assert to_measure.get(timeout=600)
        assert not measured


def test_a_server_prepares_for_grammars_before_anyone_asks(
    tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: queue.Queue[bool] = queue.Queue()
    monkeypatch.setattr(Engine, "prepare_grammars", lambda _: prepared.put(True))
    with serving(tiny_models, quiet_s=0.0):
        assert prepared.get(timeout=600)


def test_nothing_is_measured_while_tokens_are_counted_but_afterwards(
    tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, counting, seen = Held(), set[int](), set[bool]()
    measured = threading.Event()

    def tokens(*arguments: Any) -> list[int]:
        counting.add(threading.get_ident())
        found = held.before(tokens_of)(*arguments)
        counting.remove(threading.get_ident())
        return found

    def measuring(_: Engine) -> Iterator[None]:
        while True:
            seen.add(bool(counting))
            if held.go_on.is_set():
                measured.set()
            yield

    monkeypatch.setattr(answers, "tokens_of", tokens)
    monkeypatch.setattr(Engine, "measuring", measuring)
    with serving(tiny_models, quiet_s=0.0) as process:
        for number in range(1, 6):
            process.send(number, Count(asking("hello")))
            assert held.reached.get(timeout=600)
        held.go_on.set()
        for _ in range(5):
            process.next(TokenCount)
        assert measured.wait(600)
    assert True not in seen


class Broken(EngineThread):
    """A reader of events that is gone."""

    def write(self, data: Any) -> int:
        raise BrokenPipeError


def test_a_server_ends_if_nobody_reads_its_events(tmp_path: Path, tiny_models: TinyModels) -> None:
    (tmp_path / "commands").write_bytes(encode(Load(str(tiny_models.target), None, LoadOptions(threads=1)), 1))
    with (tmp_path / "commands").open("rb") as commands:
        assert Server(commands, Broken(None)).run() == 0  # type: ignore[arg-type]
