"""Events go out at once after a pause and together where they come fast, in order, and none is left behind."""

from __future__ import annotations

import json
import time

import pytest

from specchat.worker.outbox import PAUSE, Outbox
from specchat.worker.protocol import Notice


class Pipe:
    """Remembers each write; takes at most so many bytes at a time."""

    def __init__(self, most: int = 10_000) -> None:
        self.writes: list[bytes] = []
        self.broken = False
        self._most = most

    def write(self, data: bytearray) -> int:
        if self.broken:
            raise BrokenPipeError
        self.writes.append(bytes(data[: self._most]))
        return len(self.writes[-1])

    def flush(self) -> None:
        pass

    @property
    def texts(self) -> list[str]:
        return [json.loads(line)["text"] for line in b"".join(self.writes).splitlines()]


def outbox(pipe: Pipe) -> Outbox:
    return Outbox(pipe)  # type: ignore[arg-type]


def test_a_first_event_goes_out_at_once_and_a_burst_together() -> None:
    pipe = Pipe()
    box = outbox(pipe)
    box.send(Notice("0"))
    assert pipe.texts == ["0"]
    for number in range(1, 50):
        box.send(Notice(str(number)))
    box.close()
    assert pipe.texts == [str(number) for number in range(50)]
    assert len(pipe.writes) < 10


def test_what_a_busy_sender_left_lying_goes_out_all_the_same() -> None:
    """A long pass may come behind a round: its text must not wait for it."""
    pipe = Pipe()
    box = outbox(pipe)
    box.send(Notice("first"))
    box.send(Notice("second"))
    end = time.monotonic() + 10
    while len(pipe.texts) < 2 and time.monotonic() < end:
        time.sleep(PAUSE)
    assert pipe.texts == ["first", "second"]
    box.close()


def test_a_pipe_that_takes_little_at_a_time_gets_all_of_it() -> None:
    pipe = Pipe(most=7)
    box = outbox(pipe)
    box.send(Notice("a longer text than seven bytes"))
    box.close()
    assert pipe.texts == ["a longer text than seven bytes"]


def test_where_nobody_reads_any_more_the_sender_is_told() -> None:
    pipe = Pipe()
    pipe.broken = True
    box = outbox(pipe)
    box.send(Notice("lost"))
    time.sleep(2 * PAUSE)
    with pytest.raises(BrokenPipeError):
        box.send(Notice("lost as well"))
    box.close()
