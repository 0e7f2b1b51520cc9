"""Reads the body of a request: within its limit, as JSON, as what it should describe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from specchat.serve.api_errors import ApiError, bad

T = TypeVar("T", bound=BaseModel)

_ALLOWED_AS_NAME = 80

_MOST_VALUES: Final = 2**19
"""More take hundreds of megabytes, and nobody else is answered while they are read. They fit no context either."""


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body. Raises ApiError if it has more than `limit` bytes, and ClientDisconnect."""
    too_large = ApiError(413, f"the request is too large: at most {limit} bytes are read", code="request_too_large")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > limit:
        raise too_large
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise too_large
    return bytes(body)


def read_json(body: bytes) -> dict[str, Any]:
    """The object in a body.

    Raises ApiError if there is none, if it holds what is neither text nor number, and for too many values, by the signs
    that begin them.
    """
    if sum(map(body.count, (b"[", b"{", b","))) > _MOST_VALUES:
        raise ApiError(413, f"the request has more than {_MOST_VALUES:,} values", code="request_too_large")
    try:
        value = json.loads(body, parse_constant=_no_constant)
        if b"\\ud" in body.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError:
        raise bad("the body has text that is not valid Unicode") from None
    except ValueError as error:
        raise bad(f"the body is not JSON: {error}") from None
    except RecursionError:
        raise bad("the body is nested too deep") from None
    if not isinstance(value, dict):
        raise bad("the body is not a JSON object")
    return value


def read_as(kind: type[T], value: dict[str, Any]) -> T:
    """What an object describes. Raises ApiError for its first value that cannot be used."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        param = _param(first["loc"], value, missing=first["type"] == "missing")
        raise bad(_message(first["msg"], param), param or None) from None


def _message(reason: str, param: str) -> str:
    reason = reason.removeprefix("Value error, ")
    return f"{param}: {reason}" if param else reason


def _param(parts: Sequence[str | int], value: Any, *, missing: bool) -> str:
    """The path of a value as `messages[0].content`; names that pydantic gives to kinds of values are left out."""
    param = ""
    for part in parts:
        if isinstance(part, int) and isinstance(value, list) and part < len(value):
            param, value = f"{param}[{part}]", value[part]
        elif isinstance(value, dict) and part in value:
            param, value = f"{param}.{part}" if param else str(part)[:_ALLOWED_AS_NAME], value[part]
    if missing:
        param = f"{param}.{parts[-1]}" if param else str(parts[-1])
    return param


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
