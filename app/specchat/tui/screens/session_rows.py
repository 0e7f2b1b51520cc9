"""A stored session as a row of a list: its title, its time, its length, and how it goes on."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from textual.content import Content

from specchat.store.records import StoredSession
from specchat.store.search import SearchHit
from specchat.terminal.filter import clean, clean_line

MARKS = ("\ue000", "\ue001")
"""Private characters around a match, until it is drawn."""

_DAY = 24 * 3600
_WEEK = 7 * _DAY


@dataclass(frozen=True, slots=True)
class Row:
    """One session. `found` is the text around a match of the search, between marks."""

    session: StoredSession
    found: str = ""

    @classmethod
    def of(cls, hit: SearchHit) -> Row:
        """The row of a search result."""
        return cls(hit.session, hit.snippet if hit.message is not None else "")

    @property
    def title(self) -> str:
        """The title on one line, or "untitled"."""
        return clean_line(self.session.title) or "untitled"

    def draw(self, width: int, now: float | None = None) -> Content:
        """Two lines of at most `width` cells."""
        session = self.session
        facts = f"{when(session.updated, time.time() if now is None else now)} · {counted(session.num_messages)}"
        title = Content.styled(self.title, "bold").truncate(max(width - len(facts) - 2, 8), ellipsis=True)
        gap = " " * max(width - title.cell_length - len(facts), 1)
        below = _marked(self.found) if self.found else Content(clean_line(session.preview))
        below = below.truncate(width, ellipsis=True)
        return Content("\n").join([Content.assemble(title, gap, (facts, "$quiet")), below.stylize_before("$quiet")])


def counted(messages: int) -> str:
    """The number of messages in words."""
    return "1 message" if messages == 1 else f"{messages} messages"


def when(moment: float, now: float) -> str:
    """A local time in words: the time today, the weekday this week, else the date."""
    then, today = datetime.fromtimestamp(moment).astimezone(), datetime.fromtimestamp(now).astimezone()
    if then.date() == today.date():
        return then.strftime("%H:%M")
    if 0 <= now - moment < _WEEK:
        return then.strftime("%a %H:%M")
    return then.strftime("%Y-%m-%d")


def _marked(snippet: str) -> Content:
    """The snippet with the matches marked."""
    parts: list[tuple[str, str]] = []
    for index, part in enumerate(snippet.split(MARKS[0])):
        found, mark, rest = part.partition(MARKS[1])
        if index and mark:
            parts += [(_flat(found), "bold $text-warning"), (_flat(rest), "")]
        else:
            parts.append((_flat(part), ""))
    return Content.assemble(*parts)


def _flat(text: str) -> str:
    """A part of a line, on one line. Its spaces are kept."""
    return clean(text).replace("\n", " ").replace("\t", " ")
