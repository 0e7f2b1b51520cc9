"""A prompt that takes long shows its progress until the answer begins."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import cast

from specchat.engine_process.reading_progress import progress_reported
from specchat_engine import PromptProgress, Session

PROGRESS = PromptProgress(3, 10, contended=False)


def reading(progress: PromptProgress | None) -> Session:
    return cast(Session, SimpleNamespace(prompt_progress=progress))


def test_the_progress_is_reported_again_and_again_and_not_once_the_answer_has_begun() -> None:
    reported, thrice = list[PromptProgress](), threading.Event()

    def report(progress: PromptProgress) -> None:
        reported.append(progress)
        if len(reported) == 3:
            thrice.set()

    with progress_reported(reading(PROGRESS), report, seconds=0.0, pause=0.001) as end:
        assert thrice.wait(600)
        end()
        count = len(reported)
        threading.Event().wait(0.02)
    assert reported == [PROGRESS] * count


def test_nothing_is_reported_for_a_prompt_that_is_read_soon_or_for_none() -> None:
    reported = list[PromptProgress]()
    with progress_reported(reading(PROGRESS), reported.append, seconds=60.0):
        pass
    with progress_reported(reading(None), reported.append, seconds=0.0, pause=0.001):
        threading.Event().wait(0.02)
    assert reported == []


def test_a_reader_who_has_gone_ends_nothing() -> None:
    tried = threading.Event()

    def report(_: PromptProgress) -> None:
        tried.set()
        raise BrokenPipeError

    with progress_reported(reading(PROGRESS), report, seconds=0.0, pause=0.001):
        assert tried.wait(600)
