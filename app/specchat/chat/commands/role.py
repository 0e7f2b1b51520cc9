"""`/role`: system prompts by name."""

from __future__ import annotations

from collections.abc import Iterable

from specchat.chat.commands.command import NONE, SAVE, Command, StoredAction, forgettable, saved_or_forgotten, stored
from specchat.chat.commands.system import set_system
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.chat.saved_texts import saved_roles
from specchat.errors import ConfigError


def _read(argument: str, sources: Sources) -> StoredAction | None:
    if argument.lower() == NONE:
        return None
    known = tuple(sources.roles())
    return saved_or_forgotten(argument, known, "role") or stored(argument, known, "role")


async def _run(chat: ChatController, ui: FrontEnd, role: StoredAction | None) -> None:
    if role is None:
        set_system(chat, ui, None)
        return
    roles = saved_roles()
    match role.action:
        case "save":
            if not (system := chat.conversation.session.system):
                raise ConfigError("there is no system prompt to save: /system TEXT sets one")
            file = roles.save(role.name, system)
            ui.note(f"saved: /role {role.name} sets it; the file is {file}")
        case "forget":
            roles.forget(role.name)
            ui.note(f"removed: {role.name}; the conversation keeps its system prompt")
        case "use":
            chat.change(system=roles.read(role.name))
            ui.note(f"role {role.name} from the next message on")
        case "list":
            ui.notice(roles.listed("/role NAME sets one of these:"))


def _roles(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    known = tuple(sources.roles())
    return (
        *known,
        (NONE, "no system prompt"),
        (f"{SAVE} ", "NAME: stores the system prompt as it is now"),
        *forgettable(known),
    )


ROLE = Command(
    "role",
    "[save|forget] [NAME|none]",
    "Stored system prompts: list, use, save or remove them.",
    _read,
    _run,
    order=150,
    words=(_roles,),
    plain=True,
)
