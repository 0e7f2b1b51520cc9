"""`/learn`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, Refusal, closest, fixed, needs_local
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.errors import LibraryError
from specchat.settings.options import ChatOptions

_ACTIONS = ("show", "on", "off", "back", "forget")


def _read(argument: str, _sources: Sources) -> str:
    action = argument.lower() or "show"
    if action not in _ACTIONS:
        raise Refusal(f"{argument!r} says nothing about learning: {closest(argument, _ACTIONS)}")
    return action


async def _run(chat: ChatController, ui: FrontEnd, action: str) -> None:
    if action == "show":
        await ui.show("learning")
    else:
        ui.note(change_learning(chat.session.options, action))


def change_learning(options: ChatOptions, action: str) -> str:
    """Switches the learning of the draft model, goes back to an earlier draft, or deletes what was learned. Says what
    is so now.

    Raises LibraryError if that fails, or if there is no draft model that could learn.
    """
    from specchat.learning import Learning  # it needs numpy, which the chat does not load before its first frame

    learning = Learning()
    if action in ("on", "off"):
        learning.turn(on=action == "on")
    if action == "forget":
        learning.forget()
        return "What was recorded and learned is deleted."
    if action == "off":
        return "Nothing is recorded any more, and no training begins. /learn forget deletes what was learned."
    if options.draft is None:
        raise LibraryError("there is no draft model that could learn: load one with /draft")
    learned = learning.of(options.target, options.draft)
    if action == "back":
        return f"{learned.back().name} drafts from the next answer on."
    switched = "on" if learning.is_on else "off"
    return f"Learning is {switched}: {learned.summary()}."


LEARN = Command(
    "learn",
    "[on|off|back|forget]",
    "What the draft model has learned; let it learn from your chats, or undo the last adoption.",
    _read,
    _run,
    order=300,
    words=(fixed(*_ACTIONS),),
    open_ended=True,
    plain=True,
    refuses=needs_local("learning from chats"),
)
