"""Errors as clients get them: a status, one line, and where known the parameter that is wrong."""

from __future__ import annotations

from typing import Any

from specchat.engine_process.errors import Busy, EngineDied, LoadFailed, RequestFailed
from specchat.errors import SpecchatError

_KINDS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
_ANTHROPIC_KINDS = _KINDS | {413: "request_too_large", 504: "timeout_error", 503: "overloaded_error"}
_LONGEST = 500


class ApiError(SpecchatError):
    """A request that is answered with an error. `param` is the parameter to blame, `code` a word for programs."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None, retry_after: int = 0
    ) -> None:
        super().__init__(_one_line(message))
        self.status = status
        self.param = _one_line(param) if param else None
        self.code = code
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        """The headers that go with it."""
        headers = {"Retry-After": str(self.retry_after)} if self.retry_after else {}
        return headers | ({"WWW-Authenticate": "Bearer"} if self.status == 401 else {})

    def openai(self) -> dict[str, Any]:
        """The body in the shape of OpenAI's API."""
        kind = _KINDS.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}

    def anthropic(self) -> dict[str, Any]:
        """The body in the shape of Anthropic's API."""
        kind = _ANTHROPIC_KINDS.get(self.status, "api_error" if self.status >= 500 else "invalid_request_error")
        message = str(self)
        if self.param and self.param not in message:
            message = f"{self.param}: {message}"
        return {"type": "error", "error": {"type": kind, "message": message}}


def _one_line(text: str) -> str:
    """A text without line ends, and not endless: names in it may come from the request."""
    return " ".join(text.split())[:_LONGEST]


def bad(message: str, param: str | None = None) -> ApiError:
    """A request with something in it that cannot be used."""
    return ApiError(400, message, param=param, code="invalid_value")


def api_error(error: SpecchatError) -> ApiError:
    """The error that a client gets for one of the server or its engine."""
    match error:
        case ApiError():
            return error
        case Busy():
            return ApiError(429, str(error), code="queue_full", retry_after=error.retry_after_seconds)
        case RequestFailed(theirs=True):
            return ApiError(400, str(error), code="context_length_exceeded" if error.too_long else "invalid_value")
        case EngineDied():
            return ApiError(502, str(error), code="engine_died")
        case LoadFailed():
            return ApiError(503, str(error), code="engine_unavailable")
    return ApiError(500, str(error), code="engine_failed")
