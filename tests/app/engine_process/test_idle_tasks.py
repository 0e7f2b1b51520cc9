"""What an engine learned is written while its answers go on."""

from __future__ import annotations

from threading import RLock, Thread
from typing import Any

import pytest

from specchat.engine_process import records
from specchat.engine_process.idle_tasks import IdleTasks
from specchat_engine import Engine, LoadOptions
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
        idle_tasks = IdleTasks(engine, lock, keep_every_s=60.0)
        idle_tasks.answered()
        idle_tasks.keep()
    assert moments == {"taken": False, "written": True}
