"""What an engine learned is written while its answers go on."""

from __future__ import annotations

from collections.abc import Iterator
from threading import RLock, Thread
from typing import Any

import pytest

from specchat.engine_process import records
from specchat.engine_process.idle_tasks import IdleTasks
from specchat_engine import Engine, LoadOptions
from specchat_engine.errors import SettingError
from specchat_engine.policy.controller import Controller
from support.tiny_models import TinyModels


def test_nothing_computes_while_a_record_is_taken_and_anything_may_while_it_is_written(
    tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, moments = RLock(), dict[str, bool]()
    to_json = Controller.to_json

    def look(moment: str) -> None:
        """Notes whether another thread could compute now."""

        def attempt() -> None:
            moments[moment] = lock.acquire(blocking=False)
            if moments[moment]:
                lock.release()

        thread = Thread(target=attempt)
        thread.start()
        thread.join()

    def taken(controller: Controller) -> dict[str, Any]:
        look("taken")
        return to_json(controller)

    monkeypatch.setattr(Controller, "to_json", taken)
    monkeypatch.setattr(records, "replace_text", lambda *_: look("written"))
    with Engine.load(tiny_models.target, tiny_models.draft, LoadOptions(threads=1, n_ctx=128)) as engine:
        idle_tasks = IdleTasks(engine, lock, keep_every_s=60.0, prepares_grammars=False)
        idle_tasks.answered()
        idle_tasks.keep()
    assert moments == {"taken": False, "written": True}


@pytest.mark.parametrize("serves", [True, False])
def test_a_server_prepares_for_grammars_once_when_nothing_is_left_to_be_measured(
    tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch, serves: bool
) -> None:
    done: list[str] = []

    def measuring(_: Engine) -> Iterator[None]:
        done.append("measured")
        yield

    monkeypatch.setattr(Engine, "measuring", measuring)
    monkeypatch.setattr(Engine, "prepare_grammars", lambda _: done.append("prepared"))
    with Engine.load(tiny_models.target, None, LoadOptions(threads=1, n_ctx=128)) as engine:
        idle_tasks = IdleTasks(engine, RLock(), keep_every_s=60.0, prepares_grammars=serves)
        for _ in range(2):
            while idle_tasks.step():
                pass
            idle_tasks.answered()
    assert done == (["measured", "prepared", "measured"] if serves else ["measured", "measured"])


def test_an_engine_without_an_end_is_idle_in_peace(tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Engine) -> None:
        raise SettingError("this vocabulary has no token that ends an answer")

    monkeypatch.setattr(Engine, "measuring", lambda _: iter(()))
    monkeypatch.setattr(Engine, "prepare_grammars", refused)
    with Engine.load(tiny_models.target, None, LoadOptions(threads=1, n_ctx=128)) as engine:
        idle_tasks = IdleTasks(engine, RLock(), keep_every_s=60.0, prepares_grammars=True)
        assert [idle_tasks.step(), idle_tasks.step()] == [True, False]
        assert idle_tasks.due_s is None, "nothing is to be kept"
