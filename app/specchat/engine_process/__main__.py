"""The engine's process: `python -m specchat.engine_process`, started by the client."""

import sys

from specchat.pipes import events_pipe


def main() -> int:
    """Serves commands from standard input until it closes."""
    events = events_pipe()

    from specchat.engine_process.protocol import TaskFailed
    from specchat.pipes import encode
    from specchat_engine.errors import NativeLibraryError

    try:
        from specchat.engine_process.server import Server
    except NativeLibraryError as error:
        events.write(encode(TaskFailed(str(error), died=True)))
        return 1
    return Server(sys.stdin.buffer, events).run()


if __name__ == "__main__":
    sys.exit(main())
