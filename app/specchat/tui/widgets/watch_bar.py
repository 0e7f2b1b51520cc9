"""What stands in place of the prompt while a server is watched: what is followed, and why nothing can be asked."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content
from textual.widgets import Static

from specchat.watching.followed import Following


class WatchBar(Static):
    """Two rows, or more if something is wrong with the connection."""

    ALLOW_SELECT = False
    DEFAULT_CSS: ClassVar[str] = """
    WatchBar {
        height: auto;
        max-height: 5;
        border-top: solid $border;
        padding: 0 1;
    }
    """

    def __init__(self, host: str) -> None:
        super().__init__()
        self._host = host

    def show(self, following: Following, trouble: str) -> None:
        """Shows what is followed, or what is wrong with the connection."""
        how = f"\nNothing can be asked here. To ask: specchat chat --remote {self._host}"
        self.update(Content.assemble(_status(following, trouble), (how, "$quiet")))


def _status(following: Following, trouble: str) -> Content:
    if trouble:
        return Content.styled(f"✕ {trouble}", "bold $text-warning")
    followed, others = following.followed, following.others
    if followed is None or followed.over:
        return Content.styled("○ nothing runs now: the next request will be followed", "$quiet")
    more = f" · {others} other{'s' if others > 1 else ''} run{'' if others > 1 else 's'}" if others else ""
    return Content.assemble((f"● following request {followed.number}", "bold $primary"), more)
