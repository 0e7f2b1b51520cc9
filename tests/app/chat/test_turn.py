"""A turn that is under way, and what is left of it when it breaks off."""

import io

from app.tui.scripted_client import LOADED, chat_options, script
from specchat.chat.session import ChatSession
from specchat.chat.turn import RunningTurn
from specchat.engine_process.protocol import NO_TOOLS, TaskFailed
from specchat.plain.paper import Paper, SpokenAnswer
from specchat.store.records import State


def test_an_answer_that_was_given_its_beginning_keeps_it_when_it_breaks_off() -> None:
    session = ChatSession(chat_options())
    settings = session.ready(LOADED)
    session.ask("Who?")
    message, question = session.begin((4, 5))
    answer = SpokenAnswer(Paper(io.StringIO(), io.StringIO()), LOADED, NO_TOOLS)
    turn = RunningTurn(session, message, question, settings, answer)
    turn.started({"type": "start", "prefix": [4, 5], "prefix_text": "Once upon"})
    turn.take(script("> a| time"))
    assert turn.text == "Once upon a time"
    turn.finish(TaskFailed("the engine's process ended", died=True))
    kept = session.conversation.path()[-1]
    assert (kept.content, kept.state) == ("Once upon a time", State.CUT)
