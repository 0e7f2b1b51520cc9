"""The calls of one turn, with the built-in tools."""

from __future__ import annotations

from specchat.chat.tool_turn import MOST_CALLS, MOST_ROUNDS, ToolTurn
from specchat.engine_process.protocol import Offer
from specchat.tools.consent import Consent, ConsentAnswer
from specchat.tools.tool import Tool
from specchat.tools.toolbox import BUILT_IN, Toolbox
from specchat_engine.prompt.messages import ToolCall

SUM = ToolCall("calculate", '{"expression": "6 * 7"}')


class User:
    """Says the same to every question, and counts them."""

    def __init__(self, verdict: ConsentAnswer) -> None:
        self.verdict = verdict
        self.asked: list[str] = []

    def __call__(self, tool: Tool, call: ToolCall) -> ConsentAnswer:
        self.asked.append(f"{tool.called} {call.arguments}")
        return self.verdict


def turn(user: User, consent: Consent | None = None) -> ToolTurn:
    toolbox = Toolbox()
    toolbox.turn_on(BUILT_IN)
    return ToolTurn(toolbox, consent or Consent(), user)


def test_the_model_is_offered_all_tools_and_a_call_is_made_once_the_user_allowed_it() -> None:
    user = User(ConsentAnswer.ONCE)
    calling = turn(user)
    assert [one["function"]["name"] for one in calling.offer.functions] == ["current_time", "calculate"]
    results = list(calling.results((SUM, SUM)))
    assert [result.text for result in results] == ["42", "42"]
    assert all(result.seconds > 0 for result in results)
    assert user.asked == ['calculate {"expression": "6 * 7"}'] * 2


def test_a_tool_that_is_allowed_in_this_chat_is_asked_about_once() -> None:
    user, consent = User(ConsentAnswer.ALWAYS), Consent()
    list(turn(user, consent).results((SUM, SUM)))
    list(turn(user, consent).results((SUM,)))
    assert len(user.asked) == 1


def test_a_refused_call_is_not_made_and_nobody_is_asked_about_a_tool_that_does_not_exist() -> None:
    user = User(ConsentAnswer.NO)
    refused, unknown = turn(user).results((SUM, ToolCall("rm")))
    assert refused.failed
    assert refused.text == "the user did not allow this call"
    assert "there is no tool 'rm'" in unknown.text
    assert len(user.asked) == 1


def test_a_model_that_never_stops_calling_gets_no_tools_in_the_end() -> None:
    calling = turn(User(ConsentAnswer.ONCE))
    for _ in range(MOST_ROUNDS):
        assert calling.offer.functions
        list(calling.results((SUM,)))
    assert calling.offer == Offer()


def test_an_answer_with_too_many_calls_makes_only_the_first() -> None:
    user = User(ConsentAnswer.ONCE)
    results = list(turn(user).results((SUM,) * (MOST_CALLS + 3)))
    assert [result.failed for result in results] == [False] * MOST_CALLS + [True] * 3
    assert len(user.asked) == MOST_CALLS


def test_after_a_stop_the_further_calls_of_the_answer_are_not_made_but_those_of_the_next_one_are() -> None:
    user = User(ConsentAnswer.ONCE)
    calling = turn(user)
    results = calling.results((SUM, SUM))
    assert next(results).text == "42"
    calling.stop()
    left = next(results)
    assert left.failed
    assert left.seconds == 0
    assert "stopped" in left.text
    assert len(user.asked) == 1
    assert [result.text for result in calling.results((SUM,))] == ["42"]
