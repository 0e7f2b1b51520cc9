"""What a request asks of a session: the one place that knows both."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, get_args

from specchat.serve.protocol import Begun, Made, Request
from specchat_engine import Message, Session
from specchat_engine.decoding.rounds import Round
from specchat_engine.errors import SettingError
from specchat_engine.prompt.encoding import encode
from specchat_engine.prompt.template import Role

_ROLES: Mapping[Any, Role] = {role: role for role in get_args(Role)}


def prompt_of(session: Session, request: Request) -> list[int]:
    """The token ids that any session of the engine would read for a request, before old turns are dropped.

    Raises SettingError for a message that the template cannot get, and TemplateError.
    """
    messages = _messages(request)
    with session.pair.lock:
        return encode(messages, session.pair.template, session.pair.vocabulary)


def rounds_of(session: Session, request: Request) -> Generator[Round]:
    """Answers a request; close it in the thread that reads it. Raises what `Session.answer` raises."""
    session.seed, session.settings, session.prediction = request.seed, request.settings, request.prediction
    yield from session.answer(_messages(request), 0)


def begun(number: int, session: Session) -> Begun:
    """The event of a session that has read the prompt."""
    stats = session.stats
    return Begun(number, stats.prompt_tokens, stats.cached_tokens, session.start_line())


def made(number: int, event: Round) -> Made:
    """The event of a round."""
    return Made(number, event)


def _messages(request: Request) -> Sequence[Message]:
    found = []
    for message in request.messages:
        role, content = message.get("role"), message.get("content")
        if role not in _ROLES:
            raise SettingError(f"a message has the role {role!r:.40}: use {', '.join(_ROLES)}")
        if not isinstance(content, str):
            raise SettingError(f"the content of a message is {content!r:.40}: use a text")
        found.append(Message(_ROLES[role], content))
    return found
