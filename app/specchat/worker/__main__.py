"""The engine's process: `python -m specchat.worker`, started by the client."""

import os
import signal
import sys


def main() -> int:
    """Serves commands from standard input until it closes."""
    # Ctrl+C belongs to the application, which cancels the answer through the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # llama.cpp and its backends print to descriptor 1 now and then: that goes to the log, events keep the pipe.
    events = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    from specchat.worker.protocol import WorkerFailed, encode
    from specchat_engine.errors import NativeLibraryError

    try:
        from specchat.worker.server import Server
    except NativeLibraryError as error:
        events.write(encode(WorkerFailed(str(error), died=True)))
        return 1
    return Server(sys.stdin.buffer, events).run()


if __name__ == "__main__":
    sys.exit(main())
