"""`/model`, `/draft` and `/models`: what is loaded, and what could be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from specchat.chat.commands.command import NONE, Command, needs_local, nothing, unquoted
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.chat.server_limits import DRAFTS, models_of

Role = Literal["target", "draft"]


def _read(argument: str, _sources: Sources) -> str:
    return unquoted(argument)


async def show_models(chat: ChatController, ui: FrontEnd, role: Role | None) -> None:
    """Lists the models of the server, or shows those of this machine, to choose one for this role."""
    if chat.session.server is not None:
        ui.notice(models_of(chat.session.server))
    else:
        await ui.show("models", role)


async def _load_target(chat: ChatController, ui: FrontEnd, name: str) -> None:
    if name:
        await ui.show("load target", name)
    else:
        await show_models(chat, ui, "target")


async def _load_draft(chat: ChatController, ui: FrontEnd, name: str) -> None:
    if name:
        await ui.show("load draft", None if name.lower() == NONE else name)
    else:
        await show_models(chat, ui, "draft")


def _drafts(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    return ((NONE, "no draft model"), *sources.models())


MODEL = Command(
    "model",
    "[NAME|FILE]",
    "Another target; the conversation stays.",
    _read,
    _load_target,
    order=50,
    words=(lambda sources, _: sources.models(),),
    open_ended=True,
)
DRAFT = Command(
    "draft",
    "[NAME|FILE|none]",
    "Another draft model, or none.",
    _read,
    _load_draft,
    order=60,
    words=(_drafts,),
    open_ended=True,
    refuses=needs_local(DRAFTS),
)
MODELS = Command("models", "", "The models on this machine, and where to get others.", nothing, show_models, order=70)
