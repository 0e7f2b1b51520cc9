"""All downloads in one line of text. Imported when there is a download: it needs what downloads need."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from specchat.models.downloads import DownloadView
from specchat.models.pull import PullState
from specchat.terminal.blocks import bar
from specchat.terminal.filter import clean_line
from specchat.tui.widgets.model_rows import ended_at, pace

LOAD_KEY = "Ctrl+G"
_BAR = 12


def download_line(views: Sequence[DownloadView], width: int) -> Content:
    """The running download, else the one that ended last; empty for none. The least important part is cut."""
    active = [view for view in views if view.active]
    if active:
        return _active(active, width)
    if not views:
        return Content("")
    last, state = views[-1], views[-1].progress.state
    name = clean_line(last.name)
    if state is PullState.DONE:
        return _fitted(Content.assemble(("✓ ", "$outcome-accepted"), name), f" is here · {LOAD_KEY} loads it", width)
    if state is PullState.FAILED:
        why = Content.assemble(("✗ ", "$text-error"), f"{name}: {clean_line(last.progress.error)}")
        return _fitted(why, f" · {LOAD_KEY} resumes", width)
    others = sum(view.resumable for view in views[:-1])
    more = f" · {others} more" if others else ""
    stopped = Content.assemble(("○ ", "$quiet"), name)
    return _fitted(stopped, f" · {ended_at(last)} · {LOAD_KEY} resumes{more}", width)


def _active(active: Sequence[DownloadView], width: int) -> Content:
    """The running download, the first one of several, and the number of others."""
    first = next((view for view in active if view.progress.state is PullState.RUNNING), active[0])
    more = f" · {len(active) - 1} more" if len(active) > 1 else ""
    sign = "‖ " if first.progress.state is PullState.PAUSED else "↓ "
    drawn = f"{bar(first.percent / 100, _BAR)} " if width >= 60 else ""
    end = f"  {drawn}{first.percent:3.0f} % · {pace(first)}{more}"
    return _fitted(Content.assemble((sign, "$outcome-accepted"), clean_line(first.name)), end, width)


def _fitted(beginning: Content, end: str, width: int) -> Content:
    room = max(width - len(end), 8)
    if beginning.cell_length > room:
        beginning = beginning.truncate(room, ellipsis=True)
    return Content.assemble(beginning, (end, "$quiet")).truncate(width, ellipsis=True)
