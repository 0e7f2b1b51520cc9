"""`/stats` and `/why`: the statistics, and what they say about the last answer."""

from __future__ import annotations

from specchat.chat.commands.command import Command, Refusal, fixed, nothing
from specchat.chat.controller import Sources

_SCOPES = ("turn", "session", "pair")


def _read(argument: str, _sources: Sources) -> str:
    if argument and argument.lower() not in _SCOPES:
        raise Refusal(f"there are no statistics of {argument!r}: use {', '.join(_SCOPES)}")
    return argument.lower() or "session"


STATS = Command(
    "stats",
    "[turn|session|pair]",
    "Figures and charts.",
    _read,
    order=170,
    words=(fixed(*_SCOPES),),
    plain="A sentence for each figure of the last answer.",
)
WHY = Command("why", "", "Why the last answer was as fast as it was.", nothing, order=190)
