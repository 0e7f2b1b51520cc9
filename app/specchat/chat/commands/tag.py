"""`/tag`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from specchat.chat.commands.command import FORGET, Command, Refusal, forgettable
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.errors import StoreError
from specchat.store.tags import tag_of, with_signs

_NO_TAGS = "there are no tags: /tag work adds one, and /sessions #work lists the conversations with it"


class TagChange(NamedTuple):
    """Tags to add, or to `forget`; without any, the present ones are shown."""

    tags: tuple[str, ...] = ()
    forget: bool = False


def _read(argument: str, _sources: Sources) -> TagChange:
    words = argument.split()
    forget = bool(words) and words[0].lower() == FORGET
    try:
        tags = tuple(dict.fromkeys(map(tag_of, words[1:] if forget else words)))
    except StoreError as error:
        raise Refusal(str(error)) from None
    if forget and not tags:
        raise Refusal("name the tag: /tag forget NAME")
    return TagChange(tags, forget)


async def _run(chat: ChatController, ui: FrontEnd, change: TagChange) -> None:
    present = chat.conversation.session.tags
    if change.forget:
        if missing := [tag for tag in change.tags if tag not in present]:
            ui.note(f"this session has no tag {with_signs(missing)}")
        else:
            chat.tag(tag for tag in present if tag not in change.tags)
            ui.note(f"removed: {with_signs(change.tags)}")
    elif change.tags:
        chat.tag(sorted({*present, *change.tags}))
        ui.note(f"tags: {with_signs(chat.conversation.session.tags)}")
    else:
        ui.note(f"tags: {with_signs(present)}" if present else _NO_TAGS)


def _tags(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    own = dict(sources.own_tags())
    others = ((name, words) for name, words in sources.tags() if name not in own)
    return (*others, *forgettable(own.items()))


TAG = Command(
    "tag",
    "[forget] [NAME…]",
    "Tags of this conversation: show, add or remove them; /sessions #NAME lists the conversations with it.",
    _read,
    _run,
    order=40,
    words=(_tags,),
    open_ended=True,
    plain=True,
)
