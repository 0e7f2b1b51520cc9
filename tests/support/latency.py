"""A TCP proxy that holds everything back for a while, as a long line does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress

_CHUNK = 65536


@contextmanager
def delayed(port: int, round_trip_ms: float) -> Iterator[int]:
    """The port of a proxy for a port on loopback. A byte takes half of the round trip each way."""
    started: Future[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    thread = threading.Thread(target=asyncio.run, args=(_serve(port, round_trip_ms / 2000, started),), daemon=True)
    thread.start()
    own, loop, ended = started.result(20)
    try:
        yield own
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()


async def _serve(
    port: int, seconds: float, started: Future[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]]
) -> None:
    ended = asyncio.Event()
    connections: set[asyncio.Task[None]] = set()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.current_task())  # type: ignore[arg-type]
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            with suppress(asyncio.CancelledError):  # the proxy ends
                await asyncio.gather(_carry(reader, inner_writer, seconds), _carry(inner_reader, writer, seconds))
        finally:
            for end in (writer, inner_writer):
                end.close()
                with suppress(OSError):
                    await end.wait_closed()

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    started.set_result((server.sockets[0].getsockname()[1], asyncio.get_running_loop(), ended))
    await ended.wait()
    server.close()
    for connection in connections:
        connection.cancel()
    await asyncio.gather(*connections, return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    """Writes what it reads, everything as much later as everything else, and closes what it writes to at the end."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def read() -> None:
        data = b"."
        while data:
            try:
                data = await reader.read(_CHUNK)
            except OSError:
                data = b""
            waiting.put_nowait((loop.time() + seconds, data))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read())
        while True:
            due, data = await waiting.get()
            await asyncio.sleep(due - loop.time())
            if not data:
                break
            with suppress(OSError):
                writer.write(data)
    with suppress(OSError):
        writer.write_eof()
