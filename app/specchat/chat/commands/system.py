"""`/system`."""

from __future__ import annotations

from specchat.chat.commands.command import NONE, Command, fixed, text
from specchat.chat.controller import ChatController, FrontEnd
from specchat.chat.saved_texts import saved_roles


def set_system(chat: ChatController, ui: FrontEnd, prompt: str | None) -> None:
    """Changes the system prompt of the session; None removes it."""
    chat.change(system=prompt)
    ui.note("the system prompt holds from the next message on" if prompt else "no system prompt any more")


async def _run(chat: ChatController, ui: FrontEnd, argument: str) -> None:
    if argument:
        set_system(chat, ui, None if argument.lower() == NONE else argument)
    elif prompt := chat.conversation.session.system:
        role = saved_roles().name_of(prompt)
        ui.notice(f"The system prompt{f' (role {role})' if role else ''}: {prompt}")
    else:
        ui.notice("There is no system prompt: /system TEXT, /role NAME")


SYSTEM = Command(
    "system",
    "[TEXT|none]",
    "The system prompt, which the model reads first.",
    text,
    _run,
    order=140,
    words=(fixed(NONE),),
    open_ended=True,
    plain=True,
)
