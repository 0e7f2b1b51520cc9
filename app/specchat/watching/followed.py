"""The answers that run on a watched server, and the one of them that is followed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import Round


class LiveAnswer:
    """An answer as far as it was sent. It is over once it has an `end`, or was `lost`: its end was not sent."""

    def __init__(self, number: int, start: Mapping[str, Any]) -> None:
        self.number = number
        self.start = start
        self.rounds: list[Round] = []
        self.error: str | None = None
        self.end: Mapping[str, Any] | None = None
        self.lost = False

    @property
    def over(self) -> bool:
        """True if nothing more of it will be sent."""
        return self.lost or self.end is not None

    @property
    def question(self) -> str:
        """The user's last message. If there are no messages, the raw prompt."""
        question = Trace(self.start, ()).question
        raw = self.start.get("prompt")
        if question or raw is None:
            return question
        return raw if isinstance(raw, str) else f"{len(raw)} token ids"

    def trace(self) -> Trace:
        """Its trace so far."""
        return Trace(self.start, tuple(self.rounds), self.end, self.error)


class Following:
    """Knows which answers run. One of them is `followed` until it is over, then the one that runs longest."""

    def __init__(self) -> None:
        self.followed: LiveAnswer | None = None
        self._running: dict[int, LiveAnswer] = {}

    @property
    def others(self) -> int:
        """The number of answers beside the one that is followed."""
        return sum(answer is not self.followed for answer in self._running.values())

    def began(self, number: int, start: Mapping[str, Any]) -> None:
        """An answer begins. One that is known is sent again, after a loss."""
        self._running.setdefault(number, LiveAnswer(number, start))

    def made(self, number: int, event: Round) -> LiveAnswer | None:
        """The answer that has a new round; None if the round is known, or its answer is not."""
        answer = self._running.get(number)
        if answer is None or event.index != len(answer.rounds):
            return None
        answer.rounds.append(event)
        return answer

    def failed(self, number: int, message: str) -> None:
        """An answer failed."""
        if answer := self._running.get(number):
            answer.error = message

    def ended(self, number: int, end: Mapping[str, Any]) -> LiveAnswer | None:
        """The answer that is over; None if it is not known."""
        answer = self._running.pop(number, None)
        if answer is not None:
            answer.end = end
        return answer

    def only(self, numbers: Iterable[int] = ()) -> list[LiveAnswer]:
        """Only these answers still run. Returns the others, whose end was not sent."""
        still = {*numbers}
        gone = [answer for number, answer in self._running.items() if number not in still]
        for answer in gone:
            answer.lost = True
            del self._running[answer.number]
        return gone

    def choose(self) -> LiveAnswer | None:
        """Follows another answer if the one that was followed is over; returns it if there is one."""
        if self.followed is not None and not self.followed.over:
            return None
        running = next(iter(self._running.values()), None)
        if running is not None:
            self.followed = running
        return running

    def follow_next(self) -> LiveAnswer | None:
        """Follows the answer that began after the one that is followed, or the first. None if no other one runs."""
        numbers = [*self._running]
        if not self.others:
            return None
        at = numbers.index(self.followed.number) + 1 if self.followed and self.followed.number in numbers else 0
        self.followed = self._running[numbers[at % len(numbers)]]
        return self.followed
