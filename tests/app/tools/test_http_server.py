"""Servers of tools at a URL: the SDK's own server, and one that says too much."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from specchat.errors import ToolError
from specchat.tools.connection import ServerConnection
from specchat.tools.declared import ToolServer
from specchat.tools.toolbox import Toolbox
from specchat_engine.prompt.messages import ToolCall
from support.http_mcp_server import http_mcp_server
from support.scripted_server import on_loopback


def test_a_server_at_a_url_answers_calls_and_too_long_a_response_fails_its_call_alone() -> None:
    with http_mcp_server() as url:
        toolbox = Toolbox([ToolServer("web", url=url)])
        toolbox.turn_on("web")
        assert [tool.called for tool in toolbox.tools] == ["web_echo", "web_flood"]
        assert toolbox.call(ToolCall("web_echo", '{"wrong": 1}')).failed
        flooded = toolbox.call(ToolCall("web_flood"))
        assert flooded.failed
        assert len(flooded.text) < 500
        assert toolbox.call(ToolCall("web_echo", '{"text": "again"}')).text == "again"
        toolbox.close()


def test_the_declared_headers_are_sent_and_a_refusal_is_one_line() -> None:
    seen: list[str] = []

    async def refuse(request: Request) -> Response:
        seen.append(request.headers.get("authorization", ""))
        return Response("\x1b[2Jno", 403)

    with on_loopback(Starlette(routes=[Route("/mcp", refuse, methods=["GET", "POST", "DELETE"])])) as address:
        server = ToolServer("web", url=f"{address}/mcp", headers={"Authorization": "Bearer x"})
        with pytest.raises(ToolError, match="web failed") as refused:
            ServerConnection(server).connect()
    assert set(seen) == {"Bearer x"}
    assert str(refused.value).isprintable()


def test_a_url_that_nobody_answers_is_refused() -> None:
    with pytest.raises(ToolError, match="web failed"):
        ServerConnection(ToolServer("web", url="http://127.0.0.1:9/mcp")).connect()
