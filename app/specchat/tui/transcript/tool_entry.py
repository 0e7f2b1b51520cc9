"""The call of a tool in the conversation, with its result."""

from __future__ import annotations

import json

from specchat.terminal.pieces import Clickable, Piece, shown
from specchat.terminal.word_wrap import Line, Wrapper, cells, fit
from specchat.tui.transcript.entries import TranscriptEntry

TOGGLE_CALL = "toggle_call"
"""What a click on the first row does."""

_INDENT = Piece("▏ ", "$quiet")
_LEAST = 8
"""Cells below which the arguments are left out of the first row."""

_LONGEST_RESULT = 40
"""Cells of a result that the first row shows."""

_SHORTEST = 0.05
"""Seconds of a call whose time is shown."""


class ToolEntry(TranscriptEntry):
    """A call on one row: its name, the arguments as far as they fit, a short result, and how long it took.

    Unfolded, it shows the arguments and the whole result.
    """

    can_be_selected = True
    edge = "$border"

    def __init__(self, name: str, arguments: str) -> None:
        super().__init__()
        self._name = shown(name)
        self._arguments = shown(arguments)
        self._result: str | None = None
        self._failed = False
        self._seconds = 0.0
        self._unfolded = False
        self._status = "Esc stops it"

    @property
    def raw(self) -> str:
        """The whole result."""
        return self._result or ""

    @property
    def text(self) -> str:
        """What the screen shows in wide windows."""
        return "\n".join(line.text for line in self._lines(1000))

    def wait(self, status: str) -> None:
        """Says what a call waits for."""
        self._status = status
        self.changed()

    def finish(self, result: str, *, failed: bool = False, seconds: float = 0.0) -> None:
        """Shows what the call gave. One that was not made took 0 seconds."""
        self._result, self._failed, self._seconds = result, failed, seconds
        self.changed()

    def toggle(self) -> None:
        """Unfolds or folds the arguments and the result."""
        self._unfolded = not self._unfolded
        self.changed()

    def guess(self, width: int) -> int:
        """One row while it is folded."""
        return super().guess(width) if self._unfolded else 1

    def sections(self) -> list[list[Line]]:
        """The row that shows the call, and what it unfolds to."""
        lines = self._lines(self._width)
        return [lines[:1], lines[1:]]

    def _lines(self, width: int) -> list[Line]:
        head = [self._head(width)]
        return [*head, *self._body(width)] if self._unfolded else head

    def _head(self, width: int) -> Line:
        result = self._result
        time = f" · {self._seconds:.1f} s" if self._seconds >= _SHORTEST else ""
        ending = f" · {self._status}" if result is None else time
        content = shown(result or "").strip()
        short = f" → {content}" if content and "\n" not in content and cells(content) <= _LONGEST_RESULT else ""
        sign = "▾" if self._unfolded else "▸"
        begin = f"{sign} {self._verb()} "
        name = self._name[: fit(self._name, max(width - cells(begin) - cells(ending), 1))]
        room = width - cells(begin) - cells(name) - cells(ending)
        if cells(short) > room:
            short = ""
        given = " ".join(self._arguments.split())
        given = "" if given == "{}" else f" {given}"
        left = room - cells(short)
        if cells(given) > left:
            given = f"{given[: fit(given, left - 1)]}…" if left >= _LEAST else ""
        style = "$text-warning" if self._failed else "$quiet"
        parts = ((begin, style), (name, "bold"), (given, "$quiet"), (short, ""), (ending, "$quiet"))
        pieces = [Piece(text, Clickable(ink, TOGGLE_CALL)) for text, ink in parts if text]
        return Line(pieces, ending="\n")

    def _verb(self) -> str:
        if self._result is None:
            return "calling"
        if not self._failed:
            return "called"
        return "✕ failed:" if self._seconds else "✕ not called:"

    def _body(self, width: int) -> list[Line]:
        wrapper = Wrapper(width - cells(_INDENT.text))
        wrapper.write([Piece(f"arguments\n{_indented(self._arguments)}", "$quiet")])
        if self._result is not None:
            wrapper.write([Piece("\nresult\n", "$quiet"), Piece(shown(self._result).rstrip() or "(nothing)", "")])
        for line in wrapper.lines:
            line.prefix = (_INDENT,)
        wrapper.lines[-1].ending = "\n"
        return wrapper.lines


def _indented(arguments: str) -> str:
    """JSON on several lines; other text as it is."""
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments
