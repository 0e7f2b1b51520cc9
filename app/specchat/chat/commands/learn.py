"""`/learn`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, Refusal, closest, fixed, needs_local
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.chat.session import LEARN_ACTIONS, LearnAction


def _read(argument: str, _sources: Sources) -> LearnAction:
    for action in LEARN_ACTIONS:
        if action == (argument.lower() or "show"):
            return action
    raise Refusal(f"{argument!r} says nothing about learning: {closest(argument, LEARN_ACTIONS)}")


async def _run(chat: ChatController, ui: FrontEnd, action: LearnAction) -> None:
    if action == "show":
        await ui.show("learning")
    else:
        ui.note(chat.session.learn(action))


LEARN = Command(
    "learn",
    "[on|off|back|forget]",
    "What the draft model has learned; let it learn from your chats, or undo the last adoption.",
    _read,
    _run,
    order=300,
    words=(fixed(*LEARN_ACTIONS),),
    open_ended=True,
    plain=True,
    refuses=needs_local("learning from chats"),
)
