"""How much a served model thinks: the server's setting, unless a request says it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.tui.scripted_client import LOADED, chat_options
from specchat.serve.api_errors import ApiError
from specchat.serve.body import read_as
from specchat.serve.requests.chat import ChatRequest
from specchat.serve.requests.messages import MessagesRequest
from specchat.serve.requests.responses import ResponsesRequest
from specchat.serve.server import notices, offered
from specchat.settings.server import Serving
from specchat_engine.prompt.thinking_switch import ThinkingSwitch

SWITCH = ThinkingSwitch("enable_thinking", "reasoning_effort", {"low": "low", "high": "high"})
MESSAGES = [{"role": "user", "content": "hello"}]
LOADED_THINKER = replace(LOADED, thinking=SWITCH)


def options(request: type[Any], level: str, **asked: Any) -> dict[str, Any]:
    """The variables that the chat template gets for a request to a server that was started with this level."""
    usual: dict[type[Any], dict[str, Any]] = {
        ChatRequest: {"messages": MESSAGES},
        MessagesRequest: {"messages": MESSAGES, "max_tokens": 9},
        ResponsesRequest: {"input": "hello"},
    }
    offer = offered(chat_options(thinking=level), Serving(), LOADED_THINKER)
    (one,) = request.model_validate({"model": "m", **usual[request], **asked}).requests(offer)
    assert one.settings.thinking == "auto", "the level is in the variables already"
    return dict(one.variables)


@pytest.mark.parametrize("request_type", [ChatRequest, MessagesRequest, ResponsesRequest])
def test_a_request_that_says_nothing_has_the_servers_level(request_type: type[Any]) -> None:
    assert options(request_type, "off") == {"enable_thinking": False}
    assert options(request_type, "high") == {"enable_thinking": True, "reasoning_effort": "high"}
    assert options(request_type, "auto") == {}


@pytest.mark.parametrize(
    ("request_type", "asked", "expected"),
    [
        (ChatRequest, {"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
        (ChatRequest, {"chat_template_kwargs": {"enable_thinking": True}}, {"enable_thinking": True}),
        (ChatRequest, {"chat_template_kwargs": {"thinking": True}}, {"thinking": True}),
        (MessagesRequest, {"thinking": {"type": "enabled", "budget_tokens": 1024}}, {"enable_thinking": True}),
        (MessagesRequest, {"output_config": {"effort": "low"}}, {"reasoning_effort": "low"}),
        (ResponsesRequest, {"reasoning": {"effort": "low"}}, {"reasoning_effort": "low"}),
    ],
)
def test_a_request_that_says_how_much_decides_alone(
    request_type: type[Any], asked: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert options(request_type, "off", **asked) == expected


@pytest.mark.parametrize(("own", "limit"), [({}, 1024), ({"think_tokens": 256}, 256)])
def test_a_budget_of_anthropics_api_limits_the_thought(own: dict[str, Any], limit: int) -> None:
    body = {"messages": MESSAGES, "max_tokens": 9}
    budget = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    (request,) = MessagesRequest.model_validate({"model": "m", **body, **budget, **own}).requests(
        offered(chat_options(), Serving(), LOADED_THINKER)
    )
    assert request.settings.think_tokens == limit


def test_a_budget_that_is_no_number_of_tokens_is_a_wrong_request() -> None:
    for budget in (0, 2**31):
        thinking = {"type": "enabled", "budget_tokens": budget}
        with pytest.raises(ApiError) as refused:
            read_as(MessagesRequest, {"messages": MESSAGES, "max_tokens": 9, "thinking": thinking})
        assert refused.value.param == "thinking.budget_tokens"


def test_other_variables_leave_the_servers_level_as_it_is() -> None:
    assert options(ChatRequest, "off", chat_template_kwargs={"language": "en"}) == {
        "language": "en",
        "enable_thinking": False,
    }


def test_a_level_without_effect_is_reported_when_the_server_starts() -> None:
    assert "no switch" in notices(replace(LOADED, thinking=ThinkingSwitch()), "high")[0]
    assert notices(LOADED_THINKER, "high") == []
    assert notices(replace(LOADED, notices=("it continues texts",)), "auto") == ["it continues texts"]
