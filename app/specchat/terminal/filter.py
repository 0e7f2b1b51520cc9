"""The filter that every text passes on its way to a terminal.

A model's answer, a file name or an error message may contain characters that control a terminal: escape sequences that
move the cursor or write to the clipboard, or bidirectional overrides that reorder text. The filter works on single
characters, so a sequence that is split across tokens is caught too. Without its first character, the rest of an escape
sequence is harmless text.

- ESC, other C0 and C1 controls, DEL, lone surrogates and line separators become U+FFFD.
- Invisible format characters are removed: bidirectional marks, overrides and isolates, zero-width spaces, tags. The
  zero-width joiner and non-joiner are kept, since Persian, Indic scripts and emoji need them.
- Newline and tab are kept. A carriage return is a line end, together with a newline after it, even in the next call.
"""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)


class TerminalFilter:
    """Filters a text that arrives in pieces. The joined results are the filtered text."""

    __slots__ = ("_after_return",)

    def __init__(self) -> None:
        self._after_return = False

    def feed(self, text: str) -> str:
        """The filtered text that this piece adds."""
        if not text:
            return ""
        if self._after_return:
            text = text.removeprefix("\n")
            self._after_return = False
            if not text:
                return ""
        self._after_return = text.endswith("\r")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        return _INVISIBLE.sub("", _CONTROLS.sub(REPLACEMENT, text))


_SEQUENCE = re.compile(
    r"""\x1b\[[0-?]*[ -/]*[@-~]                           # CSI: colours, cursor movements
      | \x1b[PX^_][^\x1b\x9c]*(?:\x1b\\|\x9c)             # DCS and the like, such as images
      | \x1b[\]PX^_][^\r\n]*?(?:\x07|\x1b\\|\x9c|(?![^\r\n]))  # OSC, up to its end or the line's
      | \x1b[ -/]*[0-~]                                   # two characters
      | \x9b[0-?]*[ -/]*[@-~]                             # CSI in one character""",
    re.VERBOSE,
)
_BACKSPACED = re.compile(r".\x08")


def without_sequences(text: str) -> str:
    """A whole text without escape sequences and overstrikes, filtered."""
    return clean(_BACKSPACED.sub("", _SEQUENCE.sub("", text)))


def clean(text: str) -> str:
    """A whole text, filtered."""
    return TerminalFilter().feed(text)


def clean_line(text: str) -> str:
    """A whole text, filtered and on one line, for names and messages."""
    return " ".join(clean(text).split())
