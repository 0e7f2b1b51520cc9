"""A benchmark as bars in a terminal: what each arm gains over plain decoding, kind by kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from specchat.bench.plan import PLAIN
from specchat.bench.summary import Row
from specchat.terminal.filter import clean_line
from specchat.terminal.palette import BLUE, GREY, ORANGE

BASE, GAIN, LOSS, MARK = "▒", "█", "·", "│"
"""As fast as plain, what comes on top, what is missing, and where plain decoding ends: told apart without colour."""

_KIND_WIDTH = 12
_VALUE_WIDTH = 7
_LEAST_SCALE = 1.25


def bars(rows: Iterable[Row], width: int) -> Iterator[Text]:
    """Lines of at most `width` columns, a bar for each kind and arm but the plain one; none where there is nothing."""
    shown = [row for row in rows if row.arm != PLAIN and row.ratio]
    if not shown:
        return
    names = max(len(row.arm.label) for row in shown)
    room = max(10, width - _KIND_WIDTH - names - _VALUE_WIDTH - 2)
    scale = max(_LEAST_SCALE, *(row.ratio.value for row in shown if row.ratio))
    mark = int((room - 1) / scale)
    yield Text(" " * (_KIND_WIDTH + names + 2 + max(0, mark - 7)) + "plain = 1", GREY)
    kind = ""
    for row in shown:
        if row.ratio:
            first = clean_line(row.kind)[: _KIND_WIDTH - 1] if row.kind != kind else ""
            line = Text(f"{first:<{_KIND_WIDTH}}{row.arm.label:<{names}}  ")
            value = row.ratio.value
            line.append_text(_bar(round(value * mark), mark, room))
            line.append(f" {value:>{_VALUE_WIDTH - 1}.2f}", BLUE if value > 1 else ORANGE if value < 1 else "none")
            yield line
            kind = row.kind


def _bar(length: int, mark: int, room: int) -> Text:
    """Cells 0 … room: the bar's own up to `length`, the mark behind the first `mark` of them."""
    line = Text(BASE * min(length, mark), GREY)
    line.append(LOSS * (mark - length), ORANGE)
    line.append(MARK, "bold")
    line.append(GAIN * (length - mark), BLUE)
    line.append(" " * (room - 1 - max(length, mark)))
    return line


def legend() -> Text:
    """What the signs of a bar mean."""
    parts: Sequence[tuple[str, str, str]] = (
        (BASE, GREY, "as fast as plain"),
        (GAIN, BLUE, "faster"),
        (LOSS, ORANGE, "slower"),
    )
    text = Text("× plain, from the prompt to the last token:")
    for sign, colour, words in parts:
        text.append(f"  {sign * 2}", colour)
        text.append(f" {words}")
    return text
