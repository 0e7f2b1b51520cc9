"""Why a request has no answer: the error that a server sends in one line, no connection, or a closed one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specchat.errors import RemoteError
from specchat.remote.address import Address
from specchat.remote.values import text
from specchat.terminal.filter import clean_line

_LONGEST = 300
_BUSY = (429, 503)
_CONTENT = (400, 415, 422, 500, 501)
"""With one of these, servers refuse content that their model does not read."""

_WATCHING_OFF = "watching_off"
"""The code of `specchat serve` for a refusal that has nothing to do with the key."""

_TOO_LONG_KINDS = {"exceed_context_size_error", "context_length_exceeded"}
_TOO_LONG = re.compile(
    r"context (?:length|size|window)|maximum .*(?:context|model) len|too many tokens|prompt is too long", re.IGNORECASE
)


class Unreachable(RemoteError):
    """No connection could be made."""


class Closed(RemoteError):
    """The connection was closed on this side."""

    def __init__(self) -> None:
        super().__init__("the connection was closed")


class Refused(RemoteError):
    """The server answered with an error. `wait` is the number of seconds that it asks to wait, None if it does not.

    A refusal `is_busy` if the same request may work later, and `is_too_long` if the conversation does not fit the
    context.
    """

    def __init__(self, message: str, status: int, *, wait: float | None = None, too_long: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.wait = wait
        self.is_too_long = too_long

    @property
    def is_busy(self) -> bool:
        """Whether the server only had no room, or was still loading."""
        return self.status in _BUSY

    @property
    def may_mind_images(self) -> bool:
        """Whether the same conversation may be answered without its images."""
        return self.status in _CONTENT


def refusal(address: Address, status: int, content: bytes, headers: Mapping[str, str]) -> Refused:
    """The error in a response."""
    error = _error(content)
    message = address.without_key(clean_line(error.message))[:_LONGEST]
    host = clean_line(address.host)
    if status in (401, 403) and _WATCHING_OFF not in error.kinds:
        key = "wants a key" if not address.key else "does not accept the key"
        return Refused(f"{host} {key} ({status}{_after(message)}): give it with SPECCHAT_API_KEY or --api-key", status)
    if status == 404 and not message:
        return Refused(f"{host} does not speak OpenAI's API ({status}): check the address", status)
    named = not _TOO_LONG_KINDS.isdisjoint(error.kinds)
    too_long = status == 413 or (status in (400, 422) and (named or _TOO_LONG.search(message) is not None))
    return Refused(f"{host} answers {status}{_after(message)}", status, wait=_wait(headers), too_long=too_long)


def streamed_error(address: Address, value: Any) -> RemoteError:
    """Returns the error for an error message in a stream. A refusal that took a while comes there, too."""
    details = _error_details(value)
    message = address.without_key(clean_line(details.message))[:_LONGEST]
    line = f"{clean_line(address.host)} ended the answer with an error{_after(message)}"
    return RemoteError(line) if _TOO_LONG_KINDS.isdisjoint(details.kinds) else Refused(line, 400, too_long=True)


@dataclass(frozen=True, slots=True)
class _ErrorDetails:
    """The message of an error, empty if there is none, and what its `type` and `code` say."""

    message: str = ""
    kinds: tuple[str, ...] = ()


def _error(content: bytes) -> _ErrorDetails:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        message = content.decode("utf-8", "replace")
        return _ErrorDetails("" if "<html" in message.lower() else message)
    return _error_details(value.get("error", value) if isinstance(value, dict) else value)


def _error_details(value: Any) -> _ErrorDetails:
    """An error as OpenAI, FastAPI and older servers write it."""
    if isinstance(value, str):
        return _ErrorDetails(value)
    if not isinstance(value, dict):
        return _ErrorDetails()
    if isinstance(value.get("message"), str):
        return _ErrorDetails(value["message"], (text(value.get("type")), text(value.get("code"))))
    detail = value.get("detail")
    if isinstance(detail, list) and detail and isinstance(detail[0], dict):
        field_path = ".".join(str(part) for part in detail[0].get("loc", ()) if part != "body")
        return _ErrorDetails(f"{field_path}: {detail[0].get('msg', '')}")
    return _ErrorDetails(text(detail))


def _wait(headers: Mapping[str, str]) -> float | None:
    value = headers.get("Retry-After", "").strip()
    return float(value) if value.isdigit() else None


def _after(message: str) -> str:
    return f": {message}" if message else ""
