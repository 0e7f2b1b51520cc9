"""Where the plain chat writes: answers to one stream, all else to another; nothing that moves a cursor or colours."""

from __future__ import annotations

from io import TextIOWrapper
from typing import TextIO

from specchat.terminal import TerminalFilter, clean_line


class Paper:
    """Answers go to `answers`, in whole words, since a screen reader spells what comes in pieces."""

    def __init__(self, answers: TextIO, notes: TextIO) -> None:
        for stream in (answers, notes):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        self._answers = answers
        self._notes = notes
        self._filter = TerminalFilter()
        self._held = ""
        self._line_open = False

    def say(self, text: str) -> None:
        """One line that is no answer."""
        self._notes.write(clean_line(text) + "\n")
        self._notes.flush()

    def sign(self, text: str) -> None:
        """What stands before the user's own words."""
        self._notes.write(text)
        self._notes.flush()

    def stream(self, text: str) -> None:
        """A piece of an answer; the word at its end waits for what comes next."""
        self._held += self._filter.feed(text)
        end = max(self._held.rfind(" "), self._held.rfind("\n")) + 1
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
