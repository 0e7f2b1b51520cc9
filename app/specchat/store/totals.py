"""The figures of turns, kept one by one and added up by session, pair of models and kind of content."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from specchat.errors import StoreError
from specchat.store.connection import Database
from specchat.store.counters import Counters
from specchat.store.text import storable

_ALL = ""
"""The kind of content under which a whole turn is counted."""

_COLUMNS = tuple(field.name for field in fields(Counters) if field.name != "num_turns")
_SUMS = "count(*), " + ", ".join(f"sum(c.{name})" for name in _COLUMNS)

RECORD_TURNS = 100
"""A pair's record looks back over so many turns."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over turns: of everything, and of each kind of content that was told apart."""

    whole: Counters
    kinds: Mapping[str, Counters]


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """One turn's counters, and what they belong to."""

    message: int
    session: int
    pair: str
    created: float
    counters: Counters


class TotalsKept(Database):
    """The part of the store that knows figures."""

    def keep_stats(self, message: int, pair: str, stats: Mapping[str, Any], at: float | None = None) -> None:
        """Keeps the statistics of the turn that wrote this message, in the place of those kept before.

        They are a trace's last line's, and may hold more: under `kinds`, the same counters for each kind of content
        ("code", "prose"). Raises StoreError where there is no such message.
        """
        counted = {_ALL: Counters.of_turn(stats)} | {
            kind: Counters.of_turn(part) for kind, part in stats.get("kinds", {}).items()
        }
        with self.together():
            row = self._first("SELECT session FROM messages WHERE id = ?", (message,))
            if row is None:
                raise StoreError(f"there is no such message in {self.path}: it was deleted for good; start a new one")
            self._run("DELETE FROM turns WHERE message = ?", (message,))
            self._run(
                "INSERT INTO turns (message, session, pair, created, stats) VALUES (?, ?, ?, ?, ?)",
                (message, row[0], storable(pair), time.time() if at is None else at, json.dumps(stats)),
            )
            for kind, counters in counted.items():
                self._run(
                    f"INSERT INTO counters (message, kind, {', '.join(_COLUMNS)})"
                    f" VALUES (?, ?, {', '.join('?' for _ in _COLUMNS)})",
                    (message, kind, *(getattr(counters, name) for name in _COLUMNS)),
                )

    def stats(self, message: int) -> dict[str, Any] | None:
        """The statistics of one turn as they were kept; None where none were."""
        row = self._first("SELECT stats FROM turns WHERE message = ?", (message,))
        return dict(json.loads(row[0])) if row else None

    def totals(self, pair: str | None = None, session: int | None = None) -> Totals:
        """The sums over the turns of a pair, of a session, of both or of all."""
        condition, values = _of(pair, session)
        kinds = {
            row[0]: Counters(*row[1:])
            for row in self._rows(
                f"SELECT c.kind, {_SUMS} FROM turns AS t JOIN counters AS c ON c.message = t.message"
                f" WHERE {condition} GROUP BY c.kind",
                values,
            )
        }
        return Totals(kinds.pop(_ALL, Counters()), kinds)

    def pairs(self) -> dict[str, Counters]:
        """The sums of each pair, the one used last first."""
        return {
            row[0]: Counters(*row[1:])
            for row in self._rows(
                f"SELECT t.pair, {_SUMS} FROM turns AS t JOIN counters AS c ON c.message = t.message AND c.kind = ?"
                " GROUP BY t.pair ORDER BY max(t.created) DESC",
                (_ALL,),
            )
        }

    def turns(self, pair: str | None = None, session: int | None = None, limit: int = 100) -> list[TurnFigures]:
        """The last turns of a pair, of a session, of both or of all, the newest first."""
        condition, values = _of(pair, session)
        names = ", ".join(f"c.{name}" for name in _COLUMNS)
        return [
            TurnFigures(message, of, named, created, Counters(1, *counted))
            for message, of, named, created, *counted in self._rows(
                f"SELECT t.message, t.session, t.pair, t.created, {names} FROM turns AS t"
                f" JOIN counters AS c ON c.message = t.message AND c.kind = ? WHERE {condition}"
                " ORDER BY t.created DESC, t.message LIMIT ?",
                (_ALL, *values, limit),
            )
        ]


def _of(pair: str | None, session: int | None) -> tuple[str, list[Any]]:
    conditions = {"t.pair = ?": pair, "t.session = ?": session}
    asked = {condition: value for condition, value in conditions.items() if value is not None}
    return " AND ".join(asked) or "1", list(asked.values())
