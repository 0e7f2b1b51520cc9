"""The command for the tags of a conversation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from specchat.chat.commands.invocations import ForgetTags, Refusal, SetTags
from specchat.chat.commands.reading import Read, Sources
from specchat.chat.commands.saved import FORGET
from specchat.errors import StoreError
from specchat.store.tags import tag_of

OfTags = SetTags | ForgetTags

_NONE = "there are no tags: /tag work adds one, and /sessions #work lists the conversations with it"


def read_tag(argument: str, _sources: Sources) -> Read:
    """Tags to add, tags to remove after `forget`, or nothing to show them."""
    words = argument.split()
    forget = bool(words) and words[0].lower() == FORGET
    try:
        tags = tuple(dict.fromkeys(map(tag_of, words[1:] if forget else words)))
    except StoreError as error:
        return Refusal(str(error))
    if forget and not tags:
        return Refusal("name the tag: /tag forget NAME")
    return ForgetTags(tags) if forget else SetTags(tags)


@dataclass(frozen=True, slots=True)
class TagsDone:
    """What to say to the user, and the tags if they have changed."""

    words: str
    tags: tuple[str, ...] | None = None


def do_tag(invocation: OfTags, present: Collection[str]) -> TagsDone:
    """What a command does to the tags of a conversation."""
    if isinstance(invocation, ForgetTags):
        left = tuple(tag for tag in present if tag not in invocation.tags)
        if missing := [tag for tag in invocation.tags if tag not in present]:
            return TagsDone(f"this session has no tag {with_signs(missing)}")
        return TagsDone(f"removed: {with_signs(invocation.tags)}", left)
    if not invocation.tags:
        return TagsDone(f"tags: {with_signs(present)}" if present else _NONE)
    tags = tuple(sorted({*present, *invocation.tags}))
    return TagsDone(f"tags: {with_signs(tags)}", tags)


def with_signs(tags: Collection[str]) -> str:
    """The tags as they are written, such as `#draft #work`."""
    return " ".join(f"#{tag}" for tag in tags)
