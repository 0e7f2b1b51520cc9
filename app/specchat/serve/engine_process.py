"""The engine's process of a server: `python -m specchat.serve.engine_process`, started by the engine's client."""

import sys

from specchat.worker.streams import events_pipe


def main() -> int:
    """Serves commands from standard input until it closes."""
    events = events_pipe()

    from specchat.serve.protocol import Failed, encode
    from specchat_engine.errors import NativeLibraryError

    try:
        from specchat.serve.engine_server import EngineServer
    except NativeLibraryError as error:
        events.write(encode(Failed(str(error))))
        return 1
    return EngineServer(sys.stdin.buffer, events).run()


if __name__ == "__main__":
    sys.exit(main())
