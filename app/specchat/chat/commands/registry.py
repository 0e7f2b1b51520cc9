"""All commands, found in the modules of this package, in the order of the help; and which of them a text is."""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from importlib import import_module
from typing import Any

from specchat.chat import commands as package
from specchat.chat.commands.command import Command, Invocation, Refusal, nearest, text
from specchat.chat.controller import Sources
from specchat.terminal.filter import clean_line

_SHELL = Command("!", "COMMAND", "Run a shell command.", text, order=0)
"""What an exclamation mark begins. An empty one confirms the last one."""

_TYPED = re.compile(r"/([^\s/]*)(?:\s+(.*))?", re.DOTALL)


@cache
def commands() -> dict[str, Command[Any]]:
    """All commands by name."""
    modules = (import_module(f"{package.__name__}.{module.name}") for module in pkgutil.iter_modules(package.__path__))
    declared = {value for module in modules for value in vars(module).values() if isinstance(value, Command)}
    return {
        command.name: command
        for command in sorted(declared - {_SHELL}, key=lambda command: (command.order, command.name))
    }


def parse(typed: str, sources: Sources) -> Invocation[Any] | None:
    """The command that was given; None for an ordinary message. Raises Refusal if it cannot be done.

    A message that is to begin with a slash or an exclamation mark begins with two of them. A first word with another
    slash in it is a path, and so the beginning of a message.
    """
    typed = typed.strip()
    if typed.startswith("!") and not typed.startswith("!!"):
        return _SHELL.given(typed[1:].strip(), sources)
    match = _TYPED.fullmatch(typed)
    if match is None:
        return None
    name, argument = match[1].lower(), (match[2] or "").strip()
    try:
        command = commands().get(name)
        if command is None:
            raise _unknown(name, argument, sources)
        return command.given(argument, sources)
    except Refusal as refusal:
        raise Refusal(clean_line(str(refusal))) from None


def message_text(typed: str) -> str:
    """The message without the sign that distinguished it from a command."""
    return typed[1:] if typed.startswith(("//", "!!")) else typed


def _unknown(name: str, argument: str, sources: Sources) -> Refusal:
    from specchat.chat.commands.set import settable, setting_named

    if not name:
        return Refusal("a command has a name, such as /help; // begins a message with a slash")
    if (setting := setting_named(name)) in dict(settable(sources, "")):
        return Refusal(f"/{name} is a setting: /set {setting} {argument or 'VALUE'}")
    near = nearest(name, commands())
    hint = f"did you mean /{near}?" if near else "/help lists them;"
    return Refusal(f"there is no command /{name}: {hint} // begins a message with a slash")
