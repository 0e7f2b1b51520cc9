"""`/replay`."""

from __future__ import annotations

from pathlib import Path

from specchat.chat.commands.command import Command, Files, path
from specchat.chat.controller import Sources


def _read(argument: str, sources: Sources) -> Path | None:
    return path(argument, sources) if argument else None


REPLAY = Command(
    "replay",
    "[FILE]",
    "Play a trace, or the last answer, at any speed.",
    _read,
    order=210,
    words=(Files(),),
    plain="What the target rejected of the last answer's drafts, or of a trace's, round by round.",
)
