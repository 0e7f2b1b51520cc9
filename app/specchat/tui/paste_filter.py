"""Bracketed pastes in the terminal's input, for Textual, which takes escape sequences in them for keys."""

from __future__ import annotations

from time import monotonic

from specchat.terminal.filter import without_sequences

_START, _END = "\x1b[200~", "\x1b[201~"
_TIMEOUT = 5.0
_ALT_ENTER, _CTRL_J = "\x1b\r", "\n"
"""Terminals without the kitty protocol send the first for Alt+Enter, which Textual reads as Enter."""


class PasteFilter:
    """Passes each bracketed paste on as a whole and without escape sequences, and Alt+Enter outside pastes as Ctrl+J.

    A paste whose end does not come within five seconds of its last piece ends there.
    """

    def __init__(self) -> None:
        self._pieces: list[str] | None = None
        """The text of an unfinished paste. The last piece may hold the beginning of its end."""
        self._until = 0.0
        self._last = ""
        """The end of what was passed on, in which a paste may begin."""

    @property
    def waiting(self) -> bool:
        """Whether a paste is unfinished."""
        return self._pieces is not None

    def feed(self, text: str) -> str:
        """Returns the text for the app after this input; without input, the end of a paste that is overdue."""
        passed = ""
        if text:
            self._until = monotonic() + _TIMEOUT
        elif self._pieces is not None and monotonic() >= self._until:
            passed = self._finished()
        while text:
            if self._pieces is None:
                keys, mark, text = self._before_paste(text)
                passed += keys.replace(_ALT_ENTER, _CTRL_J)
                if mark:
                    self._pieces = [""]
            else:
                pasted, mark, text = (self._pieces.pop() + text).partition(_END)
                cut = len(pasted) if mark else max(0, len(pasted) - len(_END) + 1)
                self._pieces += [pasted[:cut], pasted[cut:]]
                if mark:
                    passed += self._finished()
        return passed

    def _before_paste(self, text: str) -> tuple[str, str, str]:
        """Returns the text up to a paste with the sequence that starts it, that sequence, and the rest."""
        known = len(self._last)
        keys, mark, rest = (self._last + text).partition(_START)
        self._last = "" if mark else keys[1 - len(_START) :]
        return (keys + mark)[known:], mark, rest

    def _finished(self) -> str:
        """Returns the paste's text and the sequence that ends it."""
        text, self._pieces = "".join(self._pieces or ()), None
        return without_sequences(text) + _END
