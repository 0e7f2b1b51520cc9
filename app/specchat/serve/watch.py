"""The endpoint that lets a client watch the answers to all others."""

from __future__ import annotations

from dataclasses import dataclass

from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response

from specchat.serve.api_errors import ApiError
from specchat.serve.broadcast import MOST_WATCHERS, Broadcast
from specchat.serve.endpoints import PATIENCE

_RETRY_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Watch:
    """Lets clients watch. What others say is private, so the server has to allow it."""

    broadcast: Broadcast

    async def watch(self, request: Request) -> Response:
        """GET /v1/watch: a stream of the traces of all answers. Raises ApiError if that is not allowed."""
        if not self.broadcast.allowed:
            raise ApiError(403, "watching is off here: `specchat serve --watch on` allows it", code="watching_off")
        if self.broadcast.is_full:
            message = f"{MOST_WATCHERS} clients are watching, which is the limit"
            raise ApiError(429, message, code="too_many_watchers", retry_after=_RETRY_SECONDS)
        return EventSourceResponse(self.broadcast.events(), sep="\n", send_timeout=PATIENCE)
