"""Why two answers differ, as the benchmark of neighbours tells it."""

from benchmarks.neighbours import explained
from support.conversations import ask, conversation, saying


def test_an_answer_that_ends_too_early_is_unexplained() -> None:
    session = conversation(saying("one two three"))
    ask(session)
    whole = session.answer_ids
    assert explained(session, whole, whole[:-1]) == "unexplained"
    assert explained(session, whole[:-1], whole) == "unexplained"
