"""The process that talks to one MCP server: `python -m specchat.tools`, started by `ServerConnection`.

It is the first of a process group, to which the server belongs too. The application ends it by closing its standard
input, or kills the group.
"""

import asyncio
import os
import signal
import sys
from contextlib import suppress

from specchat.pipes import events_pipe


def main() -> int:
    """Serves commands from standard input until it closes. The server never outlives it."""
    events = events_pipe()

    from specchat.tools.protocol import Broke, encode

    try:
        from specchat.tools.host import serve
    except ImportError as error:
        events.write(encode(Broke(f"MCP servers need the extra specchat[tools]: install it ({error})")))
        return 1
    try:
        asyncio.run(serve(sys.stdin.buffer, events))
    finally:
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgrp() == os.getpid():
                os.killpg(0, signal.SIGKILL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
