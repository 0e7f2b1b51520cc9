"""`/tools`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from specchat.chat.commands.command import SWITCH, Command, Files, Refusal, path
from specchat.chat.controller import ChatController, FrontEnd, Sources

_FILE = "file"


class ToolSwitch(NamedTuple):
    """A server, or the built-in tools, that the model may use or no longer; without a name, all are shown."""

    name: str = ""
    on: bool = True


def _read(argument: str, sources: Sources) -> ToolSwitch | Path:
    """A switch, or a file that the model may read."""
    if not argument:
        return ToolSwitch()
    switch, _, name = argument.partition(" ")
    name = name.strip()
    if name and switch.lower() == _FILE:
        return path(name.removeprefix("@"), sources)
    if switch.lower() not in SWITCH or not name:
        raise Refusal(f"{argument!r} is not understood: /tools on NAME, off NAME, file PATH, or /tools alone")
    return ToolSwitch(name, switch.lower() == "on")


async def _run(_chat: ChatController, ui: FrontEnd, change: ToolSwitch | Path) -> None:
    if isinstance(change, Path):
        await ui.show("tool file", change)
    else:
        await ui.show("tools", change.name, change.on)


def _words(_sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    return (
        ("on", "NAME: offers the tools of a server, or the built-in ones"),
        ("off", "NAME: offers them no longer"),
        (_FILE, "PATH: lets the model read a file"),
    )


def _names(sources: Sources, before: str) -> Iterable[tuple[str, str]] | Files:
    if before == _FILE:
        return Files()
    return sources.tools() if before in SWITCH else ()


TOOLS = Command(
    "tools",
    "[on|off NAME|file PATH]",
    "Functions that the model may call: the built-in ones, servers of config.toml, a file to read.",
    _read,
    _run,
    order=290,
    words=(_words, _names),
    open_ended=True,
    plain=True,
)
