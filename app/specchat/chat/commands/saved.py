"""Commands for texts that the user keeps: prompts and roles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specchat.chat.commands.invocations import (
    ForgetPrompt,
    ForgetRole,
    Invocation,
    Refusal,
    SavePrompt,
    SaveRole,
    SetSystem,
    UsePrompt,
    UseRole,
)
from specchat.chat.commands.reading import NONE, Read, Sources, named
from specchat.chat.saved_texts import SavedTexts, saved_prompts, saved_roles
from specchat.chat.variables import filled
from specchat.errors import ConfigError

SAVE, FORGET = "save", "forget"

OfPrompts = UsePrompt | SavePrompt | ForgetPrompt
OfRoles = UseRole | SaveRole | ForgetRole


def read_prompt(argument: str, sources: Sources) -> Read:
    """A prompt's name with words for it, or a name after what to do with it."""
    prompts = tuple(sources.prompts())
    if (found := _kept(argument, prompts, "prompt", SavePrompt, ForgetPrompt)) is not None:
        return found
    name, _, words = argument.partition(" ")
    known = _known(name, prompts, "prompt")
    return known if isinstance(known, Refusal) else UsePrompt(known, words.strip())


def read_role(argument: str, sources: Sources) -> Read:
    """A role's name, none, or a name after what to do with it."""
    if argument.lower() == NONE:
        return SetSystem(None)
    roles = tuple(sources.roles())
    if (found := _kept(argument, roles, "role", SaveRole, ForgetRole)) is not None:
        return found
    known = _known(argument, roles, "role")
    return known if isinstance(known, Refusal) else UseRole(known)


@dataclass(frozen=True, slots=True)
class SavedDone:
    """What to say to the user, in one line or more; and the text that was asked for, with its name."""

    words: str = ""
    text: str | None = None
    name: str = ""


def do_prompt(invocation: OfPrompts, last_message: str | None) -> SavedDone:
    """Does what a command asks for; `last_message` is the user's last one.

    Raises ConfigError if it cannot be done.
    """
    match invocation:
        case SavePrompt(name):
            if last_message is None:
                raise ConfigError("there is no message of yours yet: send one, then save it")
            file = saved_prompts().save(name, last_message)
            return SavedDone(f"saved: /prompt {name} writes it; the file is {file}")
        case ForgetPrompt(name):
            saved_prompts().forget(name)
            return SavedDone(f"removed: {name}")
        case UsePrompt(name, words) if name is not None:
            return SavedDone(text=filled(saved_prompts().read(name), words), name=name)
        case _:
            return SavedDone(_listed(saved_prompts(), "/prompt NAME writes one of these:", "/prompt save NAME"))


def do_role(invocation: OfRoles, system: str | None) -> SavedDone:
    """Does what a command asks for; `system` is the present system message.

    Raises ConfigError if it cannot be done.
    """
    match invocation:
        case SaveRole(name):
            if not system:
                raise ConfigError("there is no system message to save: /system TEXT sets one")
            file = saved_roles().save(name, system)
            return SavedDone(f"saved: /role {name} sets it; the file is {file}", name=name)
        case ForgetRole(name):
            saved_roles().forget(name)
            return SavedDone(f"removed: {name}; the conversation keeps its system message")
        case UseRole(name) if name is not None:
            return SavedDone(f"role {name} from the next message on", saved_roles().read(name), name)
        case _:
            return SavedDone(_listed(saved_roles(), "/role NAME sets one of these:", "/role save NAME"))


def _kept(
    argument: str,
    known: Sequence[tuple[str, str]],
    what: str,
    save: Callable[[str], Invocation],
    forget: Callable[[str], Invocation],
) -> Read | None:
    """What to do with a text whose name follows `save` or `forget`; None for another argument."""
    word, _, name = argument.partition(" ")
    word, name = word.lower(), name.strip()
    if word not in (SAVE, FORGET):
        return None
    if not name:
        return Refusal(f"name the {what}: /{what} {word} NAME")
    if word == SAVE:
        return save(name)
    found = _known(name, known, what)
    return found if isinstance(found, Refusal) else forget(found or name)


def _known(name: str, known: Sequence[tuple[str, str]], what: str) -> str | Refusal | None:
    if name and not known:
        return Refusal(f"there is no {what} {name}: /{what} save {name} stores one")
    return named(name, known, what)


def _listed(texts: SavedTexts, head: str, save: str) -> str:
    names = texts.names()
    if not names:
        return f"nothing is stored yet: {save}"
    return "\n".join([head, *(f"{name}: {line}" if line else name for name, line in names)])
