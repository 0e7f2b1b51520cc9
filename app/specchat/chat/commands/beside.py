"""`/beside`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, fixed
from specchat.chat.controller import Sources

_WORDS = ("new", "off")


def _read(argument: str, _sources: Sources) -> str:
    return argument.lower() if argument.lower() in _WORDS else argument


BESIDE = Command(
    "beside",
    "[WORDS|new|off]",
    "A second conversation beside this one, from 120 columns on; F10 goes to the other.",
    _read,
    order=350,
    words=(fixed(*_WORDS),),
    open_ended=True,
)
