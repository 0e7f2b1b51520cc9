"""Drops the oldest turns of a conversation that is too long for the context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specchat_engine.errors import ContextOverflowError
from specchat_engine.prompt.template import Message


@dataclass(frozen=True, slots=True)
class Fitted:
    """The ids of a prompt that fits, its messages, and how many of the oldest turns were dropped."""

    tokens: list[int]
    messages: Sequence[Message]
    dropped: int

    @property
    def request(self) -> str:
        """The user's last message, empty if there is none."""
        return next((message.content for message in reversed(self.messages) if message.role == "user"), "")

    def notice(self, capacity: int) -> str:
        """The message for the user if turns were dropped."""
        turns = "the oldest turn" if self.dropped == 1 else f"the {self.dropped} oldest turns"
        return f"dropped {turns} to fit the context of {capacity} tokens"


def fit(messages: Sequence[Message], encode: Callable[[Sequence[Message]], list[int]], capacity: int) -> Fitted:
    """Drops whole turns from the front until the prompt leaves room for an answer; system messages always stay.

    Raises ContextOverflowError if the last message alone is too long.
    """
    reserve = min(256, capacity // 4)
    kept = list(messages)
    dropped = 0
    while True:
        tokens = encode(kept)
        starts = [place for place, message in enumerate(kept) if message.role == "user"]
        if len(tokens) <= capacity - reserve:
            return Fitted(tokens, kept, dropped)
        if len(starts) < 2:
            break
        kept = [message for place, message in enumerate(kept) if message.role == "system" or place >= starts[1]]
        dropped += 1
    if len(tokens) < capacity:
        return Fitted(tokens, kept, dropped)
    raise ContextOverflowError(
        f"the message makes a prompt of {len(tokens)} tokens, the context holds {capacity}: "
        "shorten it or load with a larger -c"
    )
