"""`/prompt`: messages by name, with variables."""

from __future__ import annotations

from collections.abc import Iterable

from specchat.chat.commands.command import SAVE, Command, StoredAction, forgettable, saved_or_forgotten, stored
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.chat.saved_texts import saved_prompts
from specchat.chat.variables import filled
from specchat.errors import ConfigError


def _read(argument: str, sources: Sources) -> StoredAction:
    known = tuple(sources.prompts())
    name, _, words = argument.partition(" ")
    return saved_or_forgotten(argument, known, "prompt") or stored(name, known, "prompt", words.strip())


async def _run(chat: ChatController, ui: FrontEnd, prompt: StoredAction) -> None:
    prompts = saved_prompts()
    match prompt.action:
        case "save":
            if (message := chat.last_question_as_typed) is None:
                raise ConfigError("there is no message of yours yet: send one, then save it")
            file = prompts.save(prompt.name, message)
            ui.note(f"saved: /prompt {prompt.name} writes it; the file is {file}")
        case "forget":
            prompts.forget(prompt.name)
            ui.note(f"removed: {prompt.name}")
        case "use":
            ui.fill(filled(prompts.read(prompt.name), prompt.words), prompt.name)
        case "list":
            ui.notice(prompts.listed("/prompt NAME writes one of these:"))


def _prompts(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    known = tuple(sources.prompts())
    return (*known, (f"{SAVE} ", "NAME: stores your last message"), *forgettable(known))


PROMPT = Command(
    "prompt",
    "[save|forget] [NAME [WORDS]]",
    "Stored prompts: list, write one with its variables filled, save the last message, remove one.",
    _read,
    _run,
    order=160,
    words=(_prompts,),
    open_ended=True,
    plain="Stored prompts: list, send one with its variables filled, save the last message, remove one.",
)
