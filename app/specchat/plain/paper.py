"""Where the plain chat writes: answers to one stream, all else to another; nothing that moves a cursor or colours."""

from __future__ import annotations

import re
from io import TextIOWrapper
from typing import TextIO

from specchat.terminal.filter import TerminalFilter, clean_line

_BREATH = re.compile(r"[.!?:;][\"'”’)\]*_`]*\s|\n")
_LONGEST = 120
"""Characters behind which a sentence without an end is read as far as its words are whole."""


class Paper:
    """Answers go to `answers`, a sentence at a time, since a screen reader spells what comes in pieces.

    With `roles`, for someone who listens, it is said whose words follow.
    """

    def __init__(self, answers: TextIO, notes: TextIO, *, roles: bool = False) -> None:
        for stream in (answers, notes):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        self._answers = answers
        self._notes = notes
        self._roles = roles
        self._filter = TerminalFilter()
        self._held = ""
        self._line_open = False
        self._asking = False

    def say(self, text: str) -> None:
        """One line that is no answer."""
        self._notes.write(clean_line(text) + "\n")
        self._notes.flush()

    def ask(self, *, more: bool = False) -> None:
        """Says that it is the user's turn, or still is."""
        if self._roles:
            self._notes.write("And: " if more else "You: ")
            self._notes.flush()
            self._asking = True

    def heard(self) -> None:
        """The user has ended the line."""
        self._asking = False

    def leave(self) -> None:
        """Ends the line on which nobody wrote."""
        if self._asking:
            self.say("")
            self._asking = False

    def begin_answer(self) -> None:
        """Says that an answer follows."""
        if self._roles:
            self.say("Answer:")

    def stream(self, text: str) -> None:
        """A piece of an answer; the sentence at its end waits for what comes next."""
        self._held += self._filter.feed(text)
        ends = [found.end() for found in _BREATH.finditer(self._held)]
        end = ends[-1] if ends else 0
        if len(self._held) - end > _LONGEST:
            end = max(end, self._held.rfind(" ") + 1)
        self._put(self._held[:end])
        self._held = self._held[end:]

    def end_answer(self) -> None:
        """The rest of an answer, and the end of its line."""
        self._put(self._held)
        self._held, self._filter = "", TerminalFilter()
        if self._line_open:
            self._put("\n")

    def _put(self, text: str) -> None:
        if text:
            self._answers.write(text)
            self._answers.flush()
            self._line_open = not text.endswith("\n")
