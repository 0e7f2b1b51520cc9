"""An MCP server over HTTP, in a process of its own: the SDK's server, with a tool that says too much."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def http_mcp_server() -> Iterator[str]:
    """The URL of a server, which ends with the block."""
    with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().decode().strip()
        finally:
            process.kill()


def main() -> None:
    """Prints the URL, and serves until it is killed."""
    import uvicorn
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("echoing")

    @server.tool()
    def echo(text: str) -> str:
        """Says the same."""
        return text

    @server.tool()
    def flood() -> str:
        """Says too much."""
        return "x" * (9 * 2**20)

    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)  # noqa: T201
    serving = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error"))
    asyncio.run(serving.serve(sockets=[listening]))


if __name__ == "__main__":
    main()
