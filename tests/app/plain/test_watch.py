"""Watching line by line: answers on one stream, all else on the other."""

from __future__ import annotations

import io
from typing import Any

from app.remote.samples import server
from app.watching.samples import end, failure, made, start, state
from specchat.plain.paper import Paper
from specchat.plain.watch import PlainWatch
from specchat.remote.servers import EngineKind
from specchat.watching.events import Away, Connected, TurnedAway, read_message

CONNECTED = Connected(server(EngineKind.SPECCHAT))


def printed(*messages: Any) -> tuple[str, list[str]]:
    """The answers, and the lines of the other stream."""
    answers, notes = io.StringIO(), io.StringIO()
    watch = PlainWatch(Paper(answers, notes, roles=True))
    for message in messages:
        event = read_message(message) if isinstance(message, dict) else message
        assert event is not None
        watch.take(event)
    return answers.getvalue(), notes.getvalue().splitlines()


def test_a_request_is_printed_with_its_question_its_answer_and_its_figures() -> None:
    answers, notes = printed(
        CONNECTED, state(), start(3, "Who?"), made(3, 0, "ab. "), made(3, 1, "cd"), end(3, "ab. cd")
    )
    assert answers == "ab. cd\n"
    assert notes == ["Request 3: Who?", "Answer:", "[2 tokens, 50 a second, 1.50 times as fast as without a draft.]"]


def test_one_is_printed_to_its_end_and_then_the_one_that_runs_longest() -> None:
    first, second = (start(1, "First\x1b[2J?"), made(1, 0, "ab\x1b")), (start(2, "Second?"), made(2, 0, "cd"))
    lost = (state(1, 2, lost=2), *first, *second)
    answers, notes = printed(CONNECTED, state(), *first, *second, *lost, end(1, "ab"), made(2, 1, "ef"), end(2, "cdef"))
    assert answers == "ab\ufffd\ncdef\n", "what is sent again is printed once"
    assert [note for note in notes if note.startswith("Request")] == [
        "Request 1: First\ufffd[2J?",
        "Request 2: Second?",
    ]


def test_how_answers_end_and_what_becomes_of_the_connection_is_said_once() -> None:
    answers, notes = printed(
        CONNECTED,
        state(),
        start(1, "First?"),
        made(1, 0, "ab"),
        failure(1, "out of memory"),
        end(1, "ab", "error"),
        start(2, "Second?"),
        made(2, 0, "cd"),
        Away("it broke", 1.0),
        Away("it cannot be reached", 2.0),
        CONNECTED,
        state(2, lost=4),
        TurnedAway("it refuses"),
    )
    assert answers == "ab\ncd\n"
    assert [note for note in notes if not note.startswith(("Request", "Answer"))] == [
        "The answer failed: out of memory",
        "The end of this answer was not reported.",
        "it broke (trying again until Ctrl+C)",
        "Connected again.",
        "4 events came too fast and were left out.",
        "it refuses",
    ]
