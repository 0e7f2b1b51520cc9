"""The process that talks Xet: an order in standard input, the bytes in standard output, a reason in standard error.

It ends with its input: whatever happens to its parent, it does not outlive it.
"""

from __future__ import annotations

import os
import sys
import threading

from specchat.models.xet.order import read_order


def main() -> None:
    """Ends the process; its status is 0 where all bytes were written."""
    # Whatever hf_xet may print to descriptor 1 goes to the reasons, not among the bytes.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    order = read_order(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    status = 1
    try:
        from specchat.models.xet.windows import windows

        for window in windows(order):
            rest = memoryview(window)
            while rest:
                rest = rest[out.write(rest) :]
        status = 0
    except Exception as error:  # noqa: BLE001 - hf_xet may raise anything, and its reason must reach the parent
        os.write(2, f"\n{error or type(error).__name__}\n".encode())
    finally:
        os._exit(status)  # hf_xet's threads are not waited for


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main()
