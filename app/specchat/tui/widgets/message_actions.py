"""What the user wants to be done with a message of the transcript; the screen does it."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from specchat.tui.widgets.entry import Entry


class MessageActions:
    """The messages that a transcript posts. `entry` is a `UserMessage` or an `Answer`, whose `key` the screen chose."""

    @dataclass
    class Selected(Message):
        """Another entry is marked, or none."""

        entry: Entry | None

    @dataclass
    class Copy(Message):
        """Copy the text as it was written."""

        entry: Entry
        text: str

    @dataclass
    class CopyCode(Message):
        """Copy a block of code, the `number`th, from 1, of `count`."""

        entry: Entry
        text: str
        number: int
        count: int

    @dataclass
    class Edit(Message):
        """Edit the user's message and send it again."""

        entry: Entry

    @dataclass
    class Regenerate(Message):
        """Another answer in the place of this one."""

        entry: Entry

    @dataclass
    class Branch(Message):
        """Go on from here in a branch of its own."""

        entry: Entry

    @dataclass
    class Inspect(Message):
        """Look at the tokens; `round_index` and `place` name the marked one, None where none is marked."""

        entry: Entry
        round_index: int | None = None
        place: int | None = None

    @dataclass
    class Play(Message):
        """Play the answer back."""

        entry: Entry

    @dataclass
    class Export(Message):
        """Write the conversation up to here to a file."""

        entry: Entry

    @dataclass
    class Sibling(Message):
        """Show the previous (-1) or next (+1) version of this message."""

        entry: Entry
        steps: int

    @dataclass
    class TokenMarked(Message):
        """The token cursor stands on a token: the `Round.index` and the place, the target's own behind the drafted."""

        entry: Entry
        round_index: int
        place: int

    @dataclass
    class LinkClicked(Message):
        """A link in an answer was clicked: text of a model, to be opened only when the user has seen where it leads."""

        href: str

    @dataclass
    class Left(Message):
        """The user goes back to the prompt."""
