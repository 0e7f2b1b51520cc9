"""A TCP proxy that holds everything back for a while, as a long line does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CHUNK = 65536


@contextmanager
def delayed(port: int, round_trip_ms: float) -> Iterator[int]:
    """The port of a proxy for a port on loopback. A byte takes half of the round trip each way."""
    loop, started = asyncio.new_event_loop(), threading.Event()
    found: list[int] = []

    async def serve() -> None:
        server = await asyncio.start_server(lambda *ends: _connect(port, round_trip_ms / 2000, *ends), "127.0.0.1", 0)
        found.append(server.sockets[0].getsockname()[1])
        started.set()
        with suppress(asyncio.CancelledError):
            await server.serve_forever()
        carrying = asyncio.all_tasks() - {serving}
        for task in carrying:
            task.cancel()
        await asyncio.gather(*carrying, return_exceptions=True)

    serving = loop.create_task(serve())
    thread = threading.Thread(target=loop.run_until_complete, args=(serving,), daemon=True)
    thread.start()
    started.wait()
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(serving.cancel)
        thread.join()


async def _connect(port: int, seconds: float, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(_carry(reader, inner_writer, seconds), _carry(inner_reader, writer, seconds))


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    """Writes what it reads, everything as much later as everything else."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def write() -> None:
        while True:
            due, data = await waiting.get()
            await asyncio.sleep(due - loop.time())
            if not data:
                writer.close()
                return
            writer.write(data)

    writing = asyncio.create_task(write())
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            waiting.put_nowait((loop.time() + seconds, data))
    waiting.put_nowait((loop.time() + seconds, b""))
    with suppress(OSError):
        await writing
