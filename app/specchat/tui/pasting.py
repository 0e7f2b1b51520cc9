"""What comes in by paste: harmless, and a long one behind a label that stands for it until the message is sent."""

from __future__ import annotations

import re
from itertools import count

from specchat.terminal.filter import clean

MOST_LINES = 20
MOST_CHARACTERS = 2_000
"""A paste above either is shown as a label."""

_SEQUENCE = re.compile(
    r"""\x1b\[[0-?]*[ -/]*[@-~]                           # CSI: colours, cursor movements
      | \x1b[\]PX^_].*?(?:\x07|\x1b\\|\x9c|\Z)            # OSC, DCS and the like, up to their end
      | \x1b[ -/]*[0-~]                                   # two characters
      | \x9b[0-?]*[ -/]*[@-~]                             # CSI in one character""",
    re.VERBOSE | re.DOTALL,
)
_BACKSPACED = re.compile(r".\x08")


def pasted_text(text: str) -> str:
    """The text without escape sequences and overstrikes, and with nothing that a terminal would obey."""
    return clean(_BACKSPACED.sub("", _SEQUENCE.sub("", text)))


class Folds:
    """The long pastes of one message, each behind a label of its own, such as `[pasted #1: 214 lines]`."""

    def __init__(self, pasted: tuple[tuple[str, str], ...] = ()) -> None:
        self._texts = dict(pasted)

    def fold(self, text: str) -> str:
        """The label for a long text, the text itself for a short one."""
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= MOST_LINES and len(text) <= MOST_CHARACTERS:
            return text
        size = f"{lines:,} lines" if lines > MOST_LINES else f"{len(text):,} characters"
        numbers = count(len(self._texts) + 1)
        label = next(label for number in numbers if (label := f"[pasted #{number}: {size}]") not in self._texts)
        self._texts[label] = text
        return label

    def unfolded(self, text: str) -> str:
        """The text with what its labels stand for."""
        if not self._texts:
            return text
        return self._labels().sub(lambda match: self._texts[match[0]], text)

    def used_in(self, text: str) -> tuple[tuple[str, str], ...]:
        """The labels that stand in a text, with their contents."""
        return tuple((label, content) for label, content in self._texts.items() if label in text)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where labels stand in a line, from column to column."""
        if not self._texts or "[pasted" not in line:
            return []
        return [match.span() for match in self._labels().finditer(line)]

    def _labels(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._texts)))
