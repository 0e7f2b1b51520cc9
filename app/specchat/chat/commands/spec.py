"""`/spec`: speculation as a whole."""

from __future__ import annotations

from dataclasses import replace

from specchat.chat.commands.command import Command, Refusal, fixed, settings_in_force
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.chat.server_limits import drafts_by_itself
from specchat.engine_process.protocol import ServerInfo
from specchat_engine.settings import AUTO, USUAL_K, DraftLength, Settings

_MODES = ("on", "off", "auto")


def _read(argument: str, _sources: Sources) -> str:
    if argument.lower() not in _MODES:
        raise Refusal(f"speculation is {argument!r}: use {', '.join(_MODES)}" if argument else "use on, off or auto")
    return argument.lower()


def speculating(mode: str, settings: Settings, k: DraftLength = AUTO) -> Settings:
    """The settings with speculation on, off, or with k chosen before each round; `on` restores this k if it is 0."""
    if mode == "off":
        return replace(settings, k=0)
    drafter = "hybrid" if settings.drafter == "none" else settings.drafter
    if mode == "on" and settings.k != 0:
        return replace(settings, drafter=drafter)
    return replace(settings, drafter=drafter, k=AUTO if mode == "auto" else k)


def _refused(_mode: str, server: ServerInfo) -> str:
    return "" if server.steered else drafts_by_itself(server)


async def _run(chat: ChatController, ui: FrontEnd, mode: str) -> None:
    if (settings := settings_in_force(chat, ui)) is not None:
        ui.apply(speculating(mode, settings, USUAL_K))


SPEC = Command(
    "spec",
    "on|off|auto",
    "Speculation on, off, or with k chosen automatically.",
    _read,
    _run,
    order=90,
    words=(fixed(*_MODES),),
    plain=True,
    refuses=_refused,
)
