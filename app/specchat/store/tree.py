"""A session's messages as a tree: pure functions over what `Store.messages` returns, in that order."""

from __future__ import annotations

from collections.abc import Sequence

from specchat.store.records import StoredMessage


def path_to(messages: Sequence[StoredMessage], head: int | None) -> list[StoredMessage]:
    """The branch from its first message to `head`; empty where there is no such message."""
    by_id = {message.id: message for message in messages}
    path: list[StoredMessage] = []
    here = head
    while here is not None and (message := by_id.pop(here, None)) is not None:
        path.append(message)
        here = message.parent
    return path[::-1]


def siblings(messages: Sequence[StoredMessage], message: int) -> list[StoredMessage]:
    """This message and the others with the same parent and role, in the order in which they were added.

    An edited question stands beside the first one, an answer beside the one it was to replace: "2/3" is a message's
    place in this list and the list's length. Empty where there is no such message.
    """
    this = next((node for node in messages if node.id == message), None)
    if this is None:
        return []
    return [node for node in messages if node.parent == this.parent and node.role == this.role]


def newest_leaf(messages: Sequence[StoredMessage], message: int) -> int:
    """Where a branch ends that goes through `message`: from each node on to the child that was added last."""
    newest: dict[int | None, int] = {node.parent: node.id for node in messages}
    while message in newest:
        message = newest[message]
    return message
