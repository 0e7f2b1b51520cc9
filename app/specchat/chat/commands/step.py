"""`/step`."""

from __future__ import annotations

from specchat.chat.commands.command import SWITCH, Command, Refusal, fixed, needs_local
from specchat.chat.controller import Sources
from specchat.chat.server_limits import STEP_MODE


def _read(argument: str, _sources: Sources) -> bool | None:
    if argument and argument.lower() not in SWITCH:
        raise Refusal(f"step mode is {argument!r}: use on, off, or nothing to switch")
    return argument.lower() == "on" if argument else None


STEP = Command(
    "step",
    "[on|off]",
    "Advance one round with each key press.",
    _read,
    order=230,
    words=(fixed(*SWITCH),),
    refuses=needs_local(STEP_MODE),
)
