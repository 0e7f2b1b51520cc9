"""While a long prompt is read, others can see how far it has come."""

from __future__ import annotations

from specchat_engine import PromptProgress
from specchat_engine.decoding.rounds import PromptReading
from support.conversations import ask, conversation, model_of, saying


def test_the_progress_of_a_prompt_is_reported_while_it_is_read_and_only_then() -> None:
    session = conversation(saying("Yes."), saying("Yes."))
    model, seen = model_of(session), list[PromptProgress | None]()
    advance = model.advance

    def watched(tokens: list[int], rows: int) -> object:
        seen.append(session.prompt_progress)
        return advance(tokens, rows)

    model.advance = watched  # type: ignore[method-assign, assignment]
    assert session.prompt_progress is None
    ask(session, "x" * 500)
    prompt = len(session.prompt_ids)
    reported = [progress for progress in seen if progress]
    assert {progress.total for progress in reported} == {prompt}
    assert [progress.read for progress in reported] == [*range(0, prompt - 1, 64)]
    assert seen[-1] is None, "the answer was being written"


def test_a_second_message_does_not_begin_at_nothing() -> None:
    session = conversation(saying("Yes."), saying("Yes."))
    ask(session, "x" * 200)
    known, first = model_of(session).length, list[PromptProgress | None]()
    advance = model_of(session).advance

    def watched(tokens: list[int], rows: int) -> object:
        first.append(session.prompt_progress)
        return advance(tokens, rows)

    model_of(session).advance = watched  # type: ignore[method-assign, assignment]
    ask(session, "y" * 200)
    assert first[0]
    assert known // 2 < first[0].read <= known


def test_threads_that_wait_for_a_core_show_that_other_programs_keep_them_busy() -> None:
    assert PromptReading(10, threads=10_000).progress(3) == PromptProgress(3, 10, contended=True)


def test_nothing_is_said_about_other_programs_where_a_gpu_reads_the_prompt() -> None:
    assert PromptReading(10, threads=0).progress(30) == PromptProgress(10, 10, contended=False)
