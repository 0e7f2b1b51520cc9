"""The engine's process: `python -m specchat.worker`, started by the client."""

import sys

from specchat.worker.streams import events_pipe


def main() -> int:
    """Serves commands from standard input until it closes."""
    events = events_pipe()

    from specchat.worker.lines import encode
    from specchat.worker.protocol import WorkerFailed
    from specchat_engine.errors import NativeLibraryError

    try:
        from specchat.worker.server import Server
    except NativeLibraryError as error:
        events.write(encode(WorkerFailed(str(error), died=True)))
        return 1
    return Server(sys.stdin.buffer, events).run()


if __name__ == "__main__":
    sys.exit(main())
