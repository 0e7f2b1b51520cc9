"""An MCP server over stdio that does right and wrong: `faulty_mcp_server.py [hang | parent | unreadable | well]`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, __file__)
"""Starts the server; a mode and other words may follow."""

OBJECT = {"type": "object", "properties": {}}


def nested(levels: int) -> dict[str, Any]:
    """A schema with so many levels."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


TOOLS: list[dict[str, Any]] = [
    {
        "name": "echo",
        "description": "Says \x1b[31mthe same\x1b[0m.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
    {"name": "hang", "inputSchema": OBJECT},
    {"name": "escapes", "inputSchema": OBJECT},
    {"name": "flood", "inputSchema": OBJECT},
    {"name": "fail", "inputSchema": OBJECT},
    {"name": "die", "inputSchema": OBJECT},
    {"name": "garbage", "inputSchema": OBJECT},
    {
        "name": "lie",
        "inputSchema": OBJECT,
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    },
    {"name": "deep", "inputSchema": nested(30)},
    {"name": "files.size", "inputSchema": OBJECT},
    {"name": "wide", "inputSchema": {"type": "object", "properties": {f"p{n}": {} for n in range(5000)}}},
]


def send(number: Any, result: Any) -> None:
    """Answers a request."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}) + "\n")
    sys.stdout.flush()


def say(number: Any, text: str, **more: Any) -> None:
    """Answers a call."""
    send(number, {"content": [{"type": "text", "text": text}], **more})


def call(number: Any, name: str, arguments: dict[str, Any]) -> None:
    """Does what the tool of this name does."""
    match name:
        case "echo":
            say(number, arguments.get("text", "?"))
        case "hang":
            if begun := arguments.get("begun"):
                Path(begun).touch()
            time.sleep(600)
        case "escapes":
            say(number, "\x1b]52;c;eA==\x07\x1b[2J" * 100_000 + "\u202eend")
        case "flood":
            sys.stdout.write('{"jsonrpc": "2.0", "result": "' + "\x1b[2J" * 2_500_000 + '"}\n')
            sys.stdout.flush()
        case "fail":
            say(number, "no luck", isError=True)
        case "die":
            sys.stderr.write("out of \x1b[1mpaper\n")
            sys.exit(3)
        case "garbage":
            sys.stdout.write("no JSON\n[1]\n{}\n")
            say(number, "after garbage")
        case "files.size":
            send(number, {"content": [], "structuredContent": {"bytes": 3}})
        case "lie":
            say(number, "n is one", structuredContent={"n": "one"})


def main() -> None:
    """Serves until the input ends."""
    if sys.argv[1:2] == ["hang"]:
        time.sleep(600)
    if sys.argv[1:2] == ["parent"]:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", *sys.argv[2:]])
    if sys.argv[1:2] == ["unreadable"]:
        TOOLS.append({"name": "deepest", "inputSchema": nested(300)})
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message.get("method")
        match method:
            case "initialize":
                version = message["params"]["protocolVersion"]
                about = {"name": "faulty", "version": "1"}
                send(number, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about})
            case "tools/list":
                send(number, {"tools": TOOLS})
            case "tools/call":
                call(number, message["params"]["name"], message["params"].get("arguments", {}))
            case _ if number is not None:
                error = {"code": -32601, "message": "not known"}
                sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
