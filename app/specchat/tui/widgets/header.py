"""The first row: the pair, the state of speculation, the context, and the seed."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from specchat.chat.session import HeaderView, Speculation
from specchat.tui.widgets.lines import Lines

_APART = 4
"""The least blanks between the three parts together."""
_GAPS = 3
"""The blanks between them where the name of the pair is cut."""
_MOST_OF_A_NAME = 0.9
"""The share of the pair's name that is kept where the name is cut for the context."""
_LEAST_NAME = 6
"""The least cells for a model's name beside its server's host."""

_STYLES = {
    Speculation.LOADING: "$quiet",
    Speculation.ACTIVE: "$outcome-accepted",
    Speculation.LOSSY: "$outcome-correction",
    Speculation.OFF: "$quiet",
    Speculation.REFUSED: "$outcome-correction",
    Speculation.FAILED: "bold $text-error",
}


class Header(Lines):
    """Shows the header."""

    def __init__(self, view: HeaderView) -> None:
        super().__init__()
        self._view = view

    def show(self, view: HeaderView) -> None:
        """Shows another state."""
        if view != self._view:
            self._view = view
            self._draw(self.size.width)

    def on_resize(self) -> None:
        """Fits the header to the new width."""
        self._draw(self.size.width)

    def _draw(self, width: int) -> None:
        if width:
            self.show_lines([header(self._view, width)])


def header(view: HeaderView, width: int) -> Content:
    """The header in exactly `width` cells. On narrow screens the least important parts are left out first."""
    used = f"ctx {view.ctx_used}/{view.ctx_size}{'!' if view.when_full else ''}" if view.ctx_size else ""
    thinking = f"think {view.thinking}" if view.thinking else ""
    tools = f"tools {view.tools}" if view.tools else ""
    context = "   ".join(part for part in (tools, thinking, used) if part)
    near = f"{context} {view.when_full}" if view.when_full else context
    status = _status(view)
    names = (view.pair, *view.shorter)
    without = [*(("", "", thinking, name) for name in names), ("", "", "", names[-1])]
    room = width - cell_len(status) - cell_len(used) - _GAPS
    nearly_fits = not thinking and room >= _MOST_OF_A_NAME * cell_len(names[-1])
    narrowest = [("", "", used, names[-1])] if view.when_full or nearly_fits else without
    for app, word, right, pair in (
        ("specchat   ", "speculation ", f"{near}   seed {view.seed}", view.pair),
        ("specchat   ", "speculation ", near, view.pair),
        ("", "speculation ", near, view.pair),
        ("", "", near, view.pair),
        ("", "speculation ", context, view.pair),
        *(("", "", context, name) for name in names),
        *narrowest,
    ):
        left_width, chip_width = cell_len(app + pair), cell_len(word + status)
        free = width - left_width - chip_width - cell_len(right)
        if free >= _APART:
            break
    left = Content.assemble((app, "bold"), (pair, "$text-secondary"))
    chip = Content.assemble((word, "$quiet"), (status, _STYLES[view.state]))
    end = Content.styled(right, "$text-warning" if view.when_full else "$quiet")
    if free >= _APART:
        half = max((width - chip_width) // 2 - left_width, 2)
        before = min(half, free - 2)
        return Content("").join([left, Content(" " * before), chip, Content(" " * (free - before)), end])
    chip = chip.truncate(max(width // 2, width - left.cell_length - end.cell_length - 3), ellipsis=True)
    room = max(width - chip.cell_length - end.cell_length - _GAPS, 0)
    left = Content.styled(_shortened(pair, view.host, room), "$text-secondary")
    gap = max(width - left.cell_length - chip.cell_length - end.cell_length - 2, 1)
    return Content("").join([left, Content("  "), chip, Content(" " * gap), end]).truncate(width)


def _shortened(pair: str, host: str, room: int) -> str:
    """The pair in at most `room` cells. What is left out comes before the host, if there is room for that."""
    end = f" at {host}" if host else ""
    if cell_len(end) + _LEAST_NAME > room:
        end = ""
    name = Content(pair.removesuffix(end)).truncate(room - cell_len(end), ellipsis=True).plain
    return f"{name.replace(' …', '…')}{end}"


def _status(view: HeaderView) -> str:
    return f"{view.state.value} {view.status}"
