"""What is kept of each turn: its counters, its statistics and its trace, with sums by session, pair and content."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from specchat.errors import StoreError
from specchat.store.connection import Database
from specchat.store.records import storable
from specchat_engine.decoding.stats import Counted

RECORD_TURNS = 100
"""How many turns a pair's record looks back."""

_WHOLE_TURN = ""
"""The kind of content under which the counters of a whole turn are stored."""


@dataclass(frozen=True, slots=True)
class Counters(Counted):
    """The counters of one turn, or their sums over many turns, under the names that traces use.

    `plain_ms` is the time that plain decoding would have taken where that is known, `compared_ms` the part of
    `decode_ms` that it is compared with.
    """

    num_turns: int = 0
    num_tokens: int = 0
    num_rounds: int = 0
    num_draft_tokens: int = 0
    num_accepted_tokens: int = 0
    num_rejected_tokens: int = 0
    decode_ms: float = 0.0
    compared_ms: float = 0.0
    plain_ms: float = 0.0

    @classmethod
    def of_turn(cls, stats: Mapping[str, Any]) -> Self:
        """The counters in the statistics of one turn, or of one kind of content in it, as a trace's last line has them.

        If `num_rejected_tokens` or `decode_ms` is missing, it is computed from `alpha` or from the times.
        """
        times = (stats.get(name) or 0.0 for name in ("draft_ms", "verify_ms", "rollback_ms", "other_ms"))
        decode_ms = float(stats.get("decode_ms") or sum(times))
        speedup = stats.get("speedup")
        return cls(
            num_turns=1,
            num_tokens=stats.get("num_tokens") or 0,
            num_rounds=stats.get("num_rounds") or 0,
            num_draft_tokens=stats.get("num_draft_tokens") or 0,
            num_accepted_tokens=stats.get("num_accepted_tokens") or 0,
            num_rejected_tokens=_rejected(stats),
            decode_ms=decode_ms,
            compared_ms=0.0 if speedup is None else decode_ms,
            plain_ms=0.0 if speedup is None else speedup * decode_ms,
        )

    def __add__(self, other: Counters) -> Counters:
        return Counters(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    @property
    def speedup(self) -> float | None:
        """Time of plain decoding / time taken, over the turns for which both are known."""
        return self.plain_ms / self.compared_ms if self.compared_ms else None


_COLUMNS = tuple(field.name for field in fields(Counters) if field.name != "num_turns")
_SUMS = "count(*), " + ", ".join(f"sum(c.{name})" for name in _COLUMNS)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over turns: of whole turns, and of each kind of content."""

    whole: Counters
    kinds: Mapping[str, Counters]


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """The counters of one turn with its message, session and pair."""

    message: int
    session: int
    pair: str
    created: float
    counters: Counters


class Turns(Database):
    """The part of the store that keeps figures and traces of turns."""

    def keep_stats(self, message: int, pair: str, stats: Mapping[str, Any], at: float | None = None) -> None:
        """Stores the statistics of the turn that wrote this message, replacing those stored before.

        `stats` are those of a trace's last line. They may also hold the counters of each kind of content ("code",
        "prose") under `kinds`. Raises StoreError if there is no such message.
        """
        counted = {_WHOLE_TURN: Counters.of_turn(stats)} | {
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
        """The stored statistics of one turn; None if there are none, or if they are damaged."""
        row = self._first("SELECT stats FROM turns WHERE message = ?", (message,))
        try:
            return dict(json.loads(row[0])) if row else None
        except (ValueError, TypeError, RecursionError):
            return None

    def totals(self, pair: str | None = None, session: int | None = None) -> Totals:
        """The sums over all turns, or only over those of a pair, a session, or both."""
        condition, values = _condition(pair, session)
        kinds = {
            row[0]: Counters(*row[1:])
            for row in self._rows(
                f"SELECT c.kind, {_SUMS} FROM turns AS t JOIN counters AS c ON c.message = t.message"
                f" WHERE {condition} GROUP BY c.kind",
                values,
            )
        }
        return Totals(kinds.pop(_WHOLE_TURN, Counters()), kinds)

    def pairs(self) -> dict[str, Counters]:
        """The sums of each pair, the most recently used first."""
        return {
            row[0]: Counters(*row[1:])
            for row in self._rows(
                f"SELECT t.pair, {_SUMS} FROM turns AS t JOIN counters AS c ON c.message = t.message AND c.kind = ?"
                " GROUP BY t.pair ORDER BY max(t.created) DESC",
                (_WHOLE_TURN,),
            )
        }

    def turns(self, pair: str | None = None, session: int | None = None, limit: int = 100) -> list[TurnFigures]:
        """The latest turns, newest first; only those of a pair, a session, or both, where these are given."""
        condition, values = _condition(pair, session)
        names = ", ".join(f"c.{name}" for name in _COLUMNS)
        return [
            TurnFigures(message, of, named, created, Counters(1, *counted))
            for message, of, named, created, *counted in self._rows(
                f"SELECT t.message, t.session, t.pair, t.created, {names} FROM turns AS t"
                f" JOIN counters AS c ON c.message = t.message AND c.kind = ? WHERE {condition}"
                " ORDER BY t.created DESC, t.message LIMIT ?",
                (_WHOLE_TURN, *values, limit),
            )
        ]

    def keep_trace(self, message: int, lines: Sequence[str]) -> None:
        """Stores the lines of an answer's trace, compressed, replacing those stored before.

        Raises StoreError if there is no such message.
        """
        text = "\n".join(line.rstrip("\n") for line in lines)
        packed = zlib.compress(text.encode(errors="backslashreplace"))
        with self.together():
            self._run("INSERT OR REPLACE INTO traces (message, lines) VALUES (?, ?)", (message, packed))

    def trace(self, message: int) -> list[str] | None:
        """The lines of an answer's trace, or None. Raises StoreError if the trace is damaged."""
        row = self._first("SELECT lines FROM traces WHERE message = ?", (message,))
        if row is None:
            return None
        try:
            return zlib.decompress(row[0]).decode().split("\n")
        except (zlib.error, UnicodeDecodeError) as error:
            raise StoreError(
                f"the trace of message {message} in {self.path} is damaged: {error}; its text is intact"
            ) from None


def _rejected(stats: Mapping[str, Any]) -> int:
    """The rejected tokens. A trace's last line gives only α, which is accepted / (accepted + rejected)."""
    if (given := stats.get("num_rejected_tokens")) is not None:
        return int(given)
    accepted, alpha = stats.get("num_accepted_tokens") or 0, stats.get("alpha")
    if alpha is None:
        return 0
    # If nothing was accepted, each draft was rejected at its first token.
    return round(accepted / alpha - accepted) if alpha else int(stats.get("num_drafts") or 0)


def _condition(pair: str | None, session: int | None) -> tuple[str, list[Any]]:
    conditions = {"t.pair = ?": pair, "t.session = ?": session}
    given = {condition: value for condition, value in conditions.items() if value is not None}
    return " AND ".join(given) or "1", list(given.values())
