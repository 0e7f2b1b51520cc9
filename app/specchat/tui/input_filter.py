"""Terminal input on its way to the app: it waits until the app is ready, and late answers of the terminal are dropped.

Textual gives keys that arrive before a widget has the focus to nobody, and takes an answer to a question that it did
not ask for keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic

from specchat.terminal.background import ANSWER, LAST_ANSWER, Background

_PARTIAL_ANSWER = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b\x9c]{0,40}\x1b?)?)?)?|\[(?:\?[0-9;]{0,40})?)?$")
"""The beginning of an answer at the end of what was read."""
_ALT_ENTER, _CTRL_J = "\x1b\r", "\n"
"""Terminals without the kitty protocol send the first for Alt+Enter, which Textual reads as Enter."""
_READY_TIMEOUT = 5.0
_ANSWER_TIMEOUT = 10.0
_REST_TIMEOUT = 0.1


class InputFilter:
    """Passes text on when the app is ready, without answers to the question for the background colour.

    After five seconds it passes everything on: an app that never gets ready has to hear that it should end.
    """

    def __init__(self, background: Background, ready: Callable[[], bool]) -> None:
        """`ready` tells whether a key would reach a widget; it is called from the thread that reads the terminal."""
        now = monotonic()
        self._ready: Callable[[], bool] | None = ready
        self._ready_until = now + _READY_TIMEOUT
        self._kept = background.typed
        self._answers_until = now + _ANSWER_TIMEOUT if background.late else 0.0
        self._partial = ""
        self._partial_until = 0.0

    @property
    def waiting(self) -> bool:
        """Whether it holds text that time alone may release."""
        return bool(self._kept or self._partial)

    def feed(self, text: str = "") -> str:
        """The text for the app after this input; without new input, what has waited long enough."""
        if self._partial and not text and monotonic() >= self._partial_until:
            text, self._partial = self._partial, ""
        elif self._answers_until:
            text = self._without_answers(text)
        text, self._kept = self._kept + text, ""
        if self._ready is not None:
            if not self._ready() and monotonic() < self._ready_until:
                self._kept = text
                return ""
            self._ready = None
            text = _with_enter(text)
        return text.replace(_ALT_ENTER, _CTRL_J)

    def _without_answers(self, text: str) -> str:
        if not text:
            return ""
        text = ANSWER.sub("", self._partial + text)
        self._partial = ""
        if LAST_ANSWER.search(text) or monotonic() > self._answers_until:
            self._answers_until = 0.0
            return LAST_ANSWER.sub("", text)
        if begun := _PARTIAL_ANSWER.search(text):
            self._partial, self._partial_until = begun[0], monotonic() + _REST_TIMEOUT
            return text[: begun.start()]
        return text


def _with_enter(typed: str) -> str:
    """Early input with Enter at its end. Before the terminal is in raw mode, it sends a newline for Enter.

    Text with several newlines is rather a paste and stays as it is.
    """
    return typed[:-1] + "\r" if typed.endswith("\n") and typed.count("\n") == 1 else typed
