"""How long an answer to a request may be, and where it stops."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from app.tui.scripted_client import LOADED, chat_options
from specchat.serve.requests.chat import ChatRequest
from specchat.serve.requests.completions import USUAL_TOKENS, CompletionRequest
from specchat.serve.requests.messages import MessagesRequest
from specchat.serve.server import offered
from specchat.settings.server import Serving
from specchat_engine.settings import Settings

MESSAGES = [{"role": "user", "content": "hello"}]
CHAT, COMPLETION = (ChatRequest, {"messages": MESSAGES}), (CompletionRequest, {"prompt": "hello"})


def settings(what: tuple[Any, dict[str, Any]], limit: int = 0, **asked: Any) -> Settings:
    """The settings of an answer to this request by a server with this limit, 0 for none."""
    request, usual = what
    offer = offered(chat_options(max_tokens=limit), Serving(), LOADED)
    (one,) = request.model_validate({**usual, **asked}).requests(offer)
    found: Settings = one.settings
    return found


@pytest.mark.parametrize(
    ("what", "asked", "alone", "limited"),
    [
        (CHAT, {}, 0, 50),
        (CHAT, {"max_tokens": 9}, 9, 9),
        (CHAT, {"max_tokens": -1}, 0, 50),
        (CHAT, {"max_completion_tokens": -1}, 0, 50),
        (CHAT, {"max_tokens": 90}, 90, 50),
        (COMPLETION, {}, USUAL_TOKENS, USUAL_TOKENS),
        (COMPLETION, {"max_tokens": -1}, 0, 50),
        (COMPLETION, {"max_tokens": 0}, 1, 1),
    ],
)
def test_a_request_for_no_limit_gets_the_servers(what: Any, asked: dict[str, Any], alone: int, limited: int) -> None:
    assert settings(what, **asked).max_tokens == alone
    assert settings(what, limit=50, **asked).max_tokens == limited


@pytest.mark.parametrize(("what", "limit"), [(CHAT, 0), (CHAT, -2), (COMPLETION, -2)])
def test_a_length_that_means_nothing_is_refused(what: Any, limit: int) -> None:
    with pytest.raises(ValidationError, match="max_tokens"):
        settings(what, max_tokens=limit)


def test_a_request_may_limit_its_thought() -> None:
    assert settings(CHAT, think_tokens=20).think_tokens == settings(COMPLETION, think_tokens=20).think_tokens == 20
    assert settings(CHAT).think_tokens == 0


def test_an_empty_stop_string_stops_nothing() -> None:
    assert settings(CHAT, stop="").stop == settings(COMPLETION, stop=[""]).stop == ()
    assert settings(CHAT, stop=["", "\n"]).stop == ("\n",)
    messages = MessagesRequest, {"messages": MESSAGES, "max_tokens": 9}
    assert settings(messages, stop_sequences=["", "end"]).stop == ("end",)
