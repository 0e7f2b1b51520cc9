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


def test_the_progress_is_told_again_and_again_and_not_once_the_answer_has_begun() -> None:
    told, thrice = list[PromptProgress](), threading.Event()

    def tell(progress: PromptProgress) -> None:
        told.append(progress)
        if len(told) == 3:
            thrice.set()

    with progress_reported(reading(PROGRESS), tell, seconds=0.0, pause=0.001) as end:
        assert thrice.wait(30)
        end()
        count = len(told)
        threading.Event().wait(0.02)
    assert told == [PROGRESS] * count


def test_nothing_is_told_of_a_prompt_that_is_read_soon_or_of_none() -> None:
    told = list[PromptProgress]()
    with progress_reported(reading(PROGRESS), told.append, seconds=60.0):
        pass
    with progress_reported(reading(None), told.append, seconds=0.0, pause=0.001):
        threading.Event().wait(0.02)
    assert told == []


def test_a_reader_who_has_gone_ends_nothing() -> None:
    tried = threading.Event()

    def tell(_: PromptProgress) -> None:
        tried.set()
        raise BrokenPipeError

    with progress_reported(reading(PROGRESS), tell, seconds=0.0, pause=0.001):
        assert tried.wait(30)
