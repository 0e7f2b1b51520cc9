"""What the user wants to be done with a message of the transcript; the screen does it."""

from __future__ import annotations

from textual.message import Message

from specchat.tui.widgets.entry import Entry


class MessageActions:
    """The messages that a transcript posts, no dataclasses: thirteen of those would hold up the first frame."""

    class OfEntry(Message):
        """About a `UserMessage` or an `Answer`, whose `key` the screen chose."""

        def __init__(self, entry: Entry) -> None:
            super().__init__()
            self.entry = entry

    class Copy(OfEntry):
        """Copy the text as it was written."""

        def __init__(self, entry: Entry, text: str) -> None:
            super().__init__(entry)
            self.text = text

    class CopyCode(OfEntry):
        """Copy a block of code, the `number`th, from 1, of `count`."""

        def __init__(self, entry: Entry, text: str, number: int, count: int) -> None:
            super().__init__(entry)
            self.text = text
            self.number = number
            self.count = count

    class Edit(OfEntry):
        """Edit the user's message and send it again."""

    class Regenerate(OfEntry):
        """Another answer in the place of this one."""

    class Branch(OfEntry):
        """Go on from here in a branch of its own."""

    class Inspect(OfEntry):
        """Look at the tokens; `round_index` and `place` name the marked one, None where none is marked."""

        def __init__(self, entry: Entry, round_index: int | None = None, place: int | None = None) -> None:
            super().__init__(entry)
            self.round_index = round_index
            self.place = place

    class Play(OfEntry):
        """Play the answer back."""

    class Export(OfEntry):
        """Write the conversation up to here to a file."""

    class Sibling(OfEntry):
        """Show the previous (-1) or next (+1) version of this message."""

        def __init__(self, entry: Entry, steps: int) -> None:
            super().__init__(entry)
            self.steps = steps

    class TokenMarked(OfEntry):
        """The token cursor stands on a token: the `Round.index` and the place, the target's own behind the drafted."""

        def __init__(self, entry: Entry, round_index: int, place: int) -> None:
            super().__init__(entry)
            self.round_index = round_index
            self.place = place

    class Selected(Message):
        """Another entry is marked, or none."""

        def __init__(self, entry: Entry | None) -> None:
            super().__init__()
            self.entry = entry

    class LinkClicked(Message):
        """A link in an answer was clicked: text of a model, to be opened only when the user has seen where it leads."""

        def __init__(self, href: str) -> None:
            super().__init__()
            self.href = href

    class Left(Message):
        """The user goes back to the prompt."""
