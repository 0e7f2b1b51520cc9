"""MCP over HTTP, with a limit for each response."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

from specchat.tools.protocol import LONGEST_MESSAGE

_TIMEOUT = httpx2.Timeout(30.0, read=None)
"""How long a call may take is up to whoever waits for it."""


class TooLong(OSError):
    """A response beyond the limit."""


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """Ends a response that is longer than the limit."""

    def __init__(self, *, longest: int = LONGEST_MESSAGE) -> None:
        super().__init__()
        self._longest = longest

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response; reading more of it than is allowed raises TooLong."""
        response = await super().handle_async_request(request)
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(stream, self._longest)
        return response


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, longest: int) -> None:
        self._stream = stream
        self._left = longest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._left -= len(piece)
            if self._left < 0:
                raise TooLong("the server sent a response that is too long")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def http_transport(url: str, headers: Mapping[str, str]) -> Transport:
    """How a server at a URL is reached. It gets these headers."""
    client = httpx2.AsyncClient(headers=dict(headers), timeout=_TIMEOUT, transport=BoundedTransport())
    return streamable_http_client(url, http_client=client, max_sse_event_size=LONGEST_MESSAGE)
