"""Events for a watcher: from the messages of the server, and about the connection to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specchat.remote.servers import RemoteServer
from specchat.traces import checks
from specchat_engine.decoding.rounds import Round


@dataclass(frozen=True, slots=True)
class Connected:
    """There is a connection. What runs on the server follows."""

    server: RemoteServer


@dataclass(frozen=True, slots=True)
class Away:
    """The connection broke, or could not be made. The next attempt is after `wait_seconds`."""

    reason: str
    wait_seconds: float


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """The server does not let itself be watched any more. Nothing follows."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A message of the server was left out."""

    reason: str


@dataclass(frozen=True, slots=True)
class Running:
    """These answers run now. Each is sent again from its start.

    The `lost` events before were not sent, because they were not taken fast enough.
    """

    numbers: tuple[int, ...]
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Began:
    """An answer begins; `start` is the first line of its trace."""

    number: int
    start: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RoundEvent:
    """A round of an answer."""

    number: int
    round: Round


@dataclass(frozen=True, slots=True)
class Failed:
    """An answer failed; its end follows."""

    number: int
    message: str


@dataclass(frozen=True, slots=True)
class Over:
    """An answer is over; `end` is the last line of its trace."""

    number: int
    end: Mapping[str, Any]


ServerEvent = Running | Began | RoundEvent | Failed | Over
"""The content of a message."""

WatchEvent = Connected | Away | TurnedAway | Unreadable | ServerEvent


def read_message(message: object) -> ServerEvent | None:
    """Reads a message; None for one of an unknown kind. Raises ValueError if it cannot be read."""
    if not isinstance(message, dict):
        raise ValueError("it is no JSON object")
    kind = message.get("type")
    if kind == "watch":
        checks.counts(message, "running")
        return Running(tuple(message["running"]), checks.whole(message, "lost"))
    if kind not in ("start", "round", "error", "end"):
        return None
    number = checks.whole(message, "request")
    match kind:
        case "start":
            return Began(number, checks.start(message))
        case "round":
            return RoundEvent(number, checks.round_of(message))
        case "error":
            return Failed(number, checks.text(message, "message"))
    return Over(number, checks.end(message))
