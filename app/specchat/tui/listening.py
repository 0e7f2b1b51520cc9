"""What the terminal's input holds before there is anything to write into, and answers that nobody waits for any more.

Textual would give keys that come too early to nobody, and take an answer to a question that it has not asked for keys.
The parser that it makes for itself is therefore one that keeps what was typed until the app takes keys, and that knows
the answers to our questions (`specchat/ground.py`) and drops them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from time import monotonic

from textual._xterm_parser import XTermParser
from textual.message import Message

from specchat.terminal.background import ANSWER, LAST_ANSWER, Ground

_BEGUN = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b\x9c]{0,40}\x1b?)?)?)?|\[(?:\?[0-9;]{0,40})?)?$")
"""The beginning of an answer at the end of what was read."""
_READY_WITHIN = 5.0
_ANSWERS_WITHIN = 10.0
_REST_WITHIN = 0.1


class ListeningParser(XTermParser):
    """Keeps what is typed until the app is `ready`, and drops answers for as long as they may come; times in seconds.

    Behind five seconds it keeps nothing more: an app that is never ready has to hear that it should end.
    """

    def __init__(self, debug: bool = False, *, ground: Ground, ready: Callable[[], bool]) -> None:
        super().__init__(debug)
        now = monotonic()
        self._ready: Callable[[], bool] | None = ready
        self._ready_until = now + _READY_WITHIN
        self._kept = ground.typed
        self._expects_until = now + _ANSWERS_WITHIN if ground.late else 0.0
        self._begun = ""
        self._begun_until = 0.0

    def feed(self, data: str) -> Iterable[Message]:
        """The events of the input; an empty text is its end."""
        if not data:
            self._kept = self._begun = ""
            yield from super().feed(data)
            return
        yield from self._passed_on(self._without_answers(data) if self._expects_until else data)

    def tick(self) -> Iterable[Message]:
        """Events for which time has passed, or for which the app was not ready."""
        rest = ""
        if self._begun and monotonic() >= self._begun_until:
            rest, self._begun = self._begun, ""
        yield from self._passed_on(rest)
        yield from super().tick()

    def _passed_on(self, data: str) -> Iterable[Message]:
        data, self._kept = self._kept + data, ""
        if self._ready is not None:
            if not self._ready() and monotonic() < self._ready_until:
                self._kept = data
                return
            self._ready = None
            data = _sent(data)
        if data:
            yield from super().feed(data)

    def _without_answers(self, data: str) -> str:
        data = ANSWER.sub("", self._begun + data)
        self._begun = ""
        if LAST_ANSWER.search(data) or monotonic() > self._expects_until:
            self._expects_until = 0.0
            return LAST_ANSWER.sub("", data)
        if begun := _BEGUN.search(data):
            self._begun, self._begun_until = begun[0], monotonic() + _REST_WITHIN
            return data[: begun.start()]
        return data


def _sent(typed: str) -> str:
    """What was typed early, its one line end, if it stands at the end, as Enter.

    A terminal that nobody had told otherwise yet made a new line of Enter. Several are rather a paste, which stays.
    """
    return typed[:-1] + "\r" if typed.endswith("\n") and typed.count("\n") == 1 else typed


def listen(ground: Ground, ready: Callable[[], bool]) -> None:
    """The first input of Textual's next app in a terminal is read in this way; `ready` is asked from another thread."""
    from textual.drivers import linux_driver

    def first(debug: bool = False) -> XTermParser:
        # One that comes later, behind a suspension, has nothing of this to read.
        vars(linux_driver)["XTermParser"] = XTermParser
        return ListeningParser(debug, ground=ground, ready=ready)

    vars(linux_driver)["XTermParser"] = first
