"""`/store`."""

from __future__ import annotations

from specchat.chat.commands.command import SWITCH, Command, Refusal, fixed, needs_local
from specchat.chat.controller import ChatController, FrontEnd, Sources


def _read(argument: str, _sources: Sources) -> tuple[str, bool]:
    switch, _, name = argument.partition(" ")
    if argument and (switch.lower() not in SWITCH or not name.strip()):
        raise Refusal(f"{argument!r} is not understood: /store on NAME, /store off NAME, or /store alone")
    return name.strip(), switch.lower() == "on"


async def _run(_chat: ChatController, ui: FrontEnd, change: tuple[str, bool]) -> None:
    from specchat.texts import Collections  # it needs numpy, which the chat does not load before its first frame

    name, on = change
    collections = Collections()
    if name:
        collections.turn(name, on=on)
        ui.note(f"{name} is {'on' if on else 'off'} from the next answer on.")
    else:
        ui.note(collections.summary())


STORE = Command(
    "store",
    "[on|off NAME]",
    "The texts on disk that drafts may come from.",
    _read,
    _run,
    order=280,
    words=(fixed("on ", "off "),),
    open_ended=True,
    plain=True,
    refuses=needs_local("drafting from texts on this machine"),
)
