"""One recorded turn, as `--json` prints it and as files, stored sessions, replays and exports use it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from specchat_engine.decoding.rounds import Round, RoundTimes, TargetToken, TokenKind
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.decoding.trace_lines import round_line


class Trace(NamedTuple):
    """A turn: its start line, its rounds, and its end line, which is None if the recording was cut short.

    `error` is the message of the error that ended the turn, or None.
    """

    start: Mapping[str, Any]
    rounds: tuple[Round, ...]
    end: Mapping[str, Any] | None = None
    error: str | None = None

    @property
    def text(self) -> str:
        """The answer; without an end line, the text of the rounds."""
        if self.end:
            return str(self.end["text"])
        return self.given + "".join(event.text for event in self.rounds)

    @property
    def given(self) -> str:
        """The text with which the answer had to begin, if it was branched from another; it belongs to no round."""
        return str(self.start.get("prefix_text", ""))

    @property
    def opening(self) -> Round | None:
        """The given text as a round, to be drawn or printed like others; None if there is none."""
        if not self.given:
            return None
        token = TargetToken(None, self.given, None, TokenKind.PLAIN)
        return Round(0, "none", 0, "given", (), token, (), RoundTimes(0.0, 0.0, 0.0), 0.0)

    @property
    def reason(self) -> str | None:
        """Why the answer ended; None if that was not recorded."""
        return self.end.get("reason") if self.end else None

    @property
    def question(self) -> str:
        """The user's message in this turn."""
        asked = (str(message["content"]) for message in reversed(self.start["messages"]) if message["role"] == "user")
        return next(asked, "")

    @property
    def stats(self) -> Mapping[str, Any]:
        """The statistics of the end line. Values that it lacks are counted again."""
        return self.stats_after(len(self.rounds)) | dict(self.end["stats"] if self.end else {})

    def stats_after(self, count: int) -> dict[str, Any]:
        """The statistics of the first `count` rounds. The speed-up is None, since rounds do not contain C(1)."""
        stats = TurnStats(prompt_tokens=self.start.get("prompt_tokens", 0))
        for event in self.rounds[:count]:
            stats.observe(event)
        stats.ttft_ms = self.rounds[0].t_ms if self.rounds[:count] else 0.0
        return stats.to_json()

    def lines(self) -> Iterator[dict[str, Any]]:
        """The objects of its lines in order: start, rounds, and an error and an end if there are any."""
        yield dict(self.start)
        for event in self.rounds:
            yield round_line(event)
        if self.error is not None:
            yield {"type": "error", "message": self.error}
        if self.end:
            yield dict(self.end)
