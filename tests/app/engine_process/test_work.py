"""A draft that is timed in the engine's process, in place of the pair of the chat."""

from __future__ import annotations

import os
import signal

from app.engine_process.conftest import ENDLESS, OPTIONS, SHORT, answer, last_of, only, process_of, text_of
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import DraftTimed, DraftTrial, Ended, Loaded, Started, TaskFailed
from support.tiny_models import TinyModels


def test_a_draft_is_timed_with_progress_and_the_chat_goes_on_with_its_own_pair(
    loaded: LocalClient, tiny_models: TinyModels
) -> None:
    before = text_of(answer(loaded))
    events = list(loaded.time_draft(tiny_models.target, tiny_models.draft, OPTIONS, 0.3))
    shares = [event.share for event in events if isinstance(event, DraftTrial)]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1
    last = events[-1]
    assert isinstance(last, DraftTimed)
    assert last.gain is not None
    assert last.gain.speedup.value > 0
    assert last.gain.alpha is not None
    after = list(answer(loaded))
    assert any(isinstance(event, Loaded) for event in after)
    assert text_of(after) == before


def test_timing_is_stopped_in_the_middle(loaded: LocalClient, tiny_models: TinyModels) -> None:
    events = []
    for event in loaded.time_draft(tiny_models.target, tiny_models.draft, OPTIONS, 600.0):
        events.append(event)
        if isinstance(event, DraftTrial):
            loaded.cancel()
    assert events[-1] == TaskFailed("timing was stopped")
    assert text_of(answer(loaded))


def test_a_draft_that_cannot_be_loaded_and_one_whose_process_dies_are_failures_of_that_draft(
    own: LocalClient, tiny_models: TinyModels
) -> None:
    missing = tiny_models.draft.with_name("gone.gguf")
    failed = last_of(TaskFailed, own.time_draft(tiny_models.target, missing, OPTIONS, 1.0))
    assert "gone.gguf" in failed.message
    for event in own.time_draft(tiny_models.target, tiny_models.draft, OPTIONS, 600.0):
        if isinstance(event, DraftTrial):
            os.kill(process_of(own).pid, signal.SIGKILL)
    assert isinstance(event, TaskFailed)
    assert event.died
    assert last_of(DraftTimed, own.time_draft(tiny_models.target, tiny_models.draft, OPTIONS, 0.1))


def test_no_draft_is_timed_while_an_answer_is_given(loaded: LocalClient, tiny_models: TinyModels) -> None:
    running = answer(loaded, ENDLESS)
    assert isinstance(next(running), Started)
    refused = only(TaskFailed, loaded.time_draft(tiny_models.target, tiny_models.draft, OPTIONS, 1.0))
    assert "an answer is being given" in refused.message
    loaded.cancel()
    assert last_of(Ended, running).reason == "cancelled"
    assert last_of(Ended, answer(loaded, SHORT))
