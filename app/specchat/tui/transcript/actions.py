"""The messages of a transcript: what the user wants done with one of its entries. The screen does it."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from specchat.tui.transcript.entries import Entry


class MessageActions:
    """A namespace, so that the screen's handlers are named `on_message_actions_…`."""

    @dataclass
    class OfEntry(Message):
        """About a `UserMessage` or an `Answer`. The screen knows it by its `key`."""

        entry: Entry

    @dataclass
    class Copy(OfEntry):
        """Copy the text as it was written."""

        text: str

    @dataclass
    class CopyCode(OfEntry):
        """Copy a code block: number `number` of `count`, counted from 1."""

        text: str
        number: int
        count: int

    class Edit(OfEntry):
        """Edit the user's message and send it again."""

    class Regenerate(OfEntry):
        """Ask for another answer in place of this one."""

    class Branch(OfEntry):
        """Continue from here in a new branch."""

    @dataclass
    class Inspect(OfEntry):
        """Open the inspector at this token; both are None where no token is marked."""

        round_index: int | None = None
        place: int | None = None

    class Play(OfEntry):
        """Replay the answer."""

    class Export(OfEntry):
        """Write the conversation up to here to a file."""

    @dataclass
    class Sibling(OfEntry):
        """Show the previous (-1) or next (+1) version of this message."""

        steps: int

    @dataclass
    class TokenMarked(OfEntry):
        """The token cursor is on a token: its `Round.index`, and its place in the round, drafted tokens first."""

        round_index: int
        place: int

    @dataclass
    class Selected(Message):
        """Another entry is selected, or none."""

        entry: Entry | None

    @dataclass
    class LinkClicked(Message):
        """A link in an answer was clicked. The address comes from a model: show it before opening it."""

        href: str

    class Left(Message):
        """The user goes back to the prompt."""
