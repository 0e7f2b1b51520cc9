"""What the terminal's input holds beside the user's keys: words typed before the app was there, and late answers.

Textual would take an answer to a question that it has not asked for keys. The parser that it makes for itself is
therefore one that knows the answers to ours (`specchat/ground.py`) and drops them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from time import monotonic

from textual._xterm_parser import XTermParser
from textual.message import Message

from specchat.ground import ANSWER, LAST_ANSWER, Ground

_BEGUN = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b\x9c]{0,40}\x1b?)?)?)?|\[(?:\?[0-9;]{0,40})?)?$")
"""The beginning of an answer at the end of what was read."""
_ANSWERS_WITHIN = 10.0
_REST_WITHIN = 0.1


class ListeningParser(XTermParser):
    """Reads what was typed before first, and drops answers for as long as they may come."""

    def __init__(self, debug: bool = False, *, ground: Ground) -> None:
        super().__init__(debug)
        self._typed = ground.typed
        self._expects_until = monotonic() + _ANSWERS_WITHIN if ground.late else 0.0
        self._held = ""
        self._held_until = 0.0

    def feed(self, data: str) -> Iterable[Message]:
        """The events of the input; an empty text is its end."""
        yield from self._typed_before()
        if data and self._expects_until:
            data = self._without_answers(data)
            if not data:
                return
        yield from super().feed(data)

    def tick(self) -> Iterable[Message]:
        """Events for which time has passed."""
        yield from self._typed_before()
        if self._held and monotonic() >= self._held_until:
            held, self._held = self._held, ""
            yield from super().feed(held)
        yield from super().tick()

    def _typed_before(self) -> Iterable[Message]:
        if self._typed:
            typed, self._typed = self._typed, ""
            yield from super().feed(typed)

    def _without_answers(self, data: str) -> str:
        data = ANSWER.sub("", self._held + data)
        self._held = ""
        if LAST_ANSWER.search(data) or monotonic() > self._expects_until:
            self._expects_until = 0.0
            return LAST_ANSWER.sub("", data)
        if begun := _BEGUN.search(data):
            self._held, self._held_until = begun[0], monotonic() + _REST_WITHIN
            return data[: begun.start()]
        return data


def listen(ground: Ground) -> None:
    """The first input of Textual's next app in a terminal is read in this way."""
    if not (ground.typed or ground.late):
        return
    from textual.drivers import linux_driver

    def first(debug: bool = False) -> XTermParser:
        # One that comes later, behind a suspension, has nothing of this to read.
        vars(linux_driver)["XTermParser"] = XTermParser
        return ListeningParser(debug, ground=ground)

    vars(linux_driver)["XTermParser"] = first
