"""`specchat chat --attach --plain`: what the clients of a server ask and get, one answer after the other, as lines."""

from __future__ import annotations

import sys

from specchat.errors import FAILED, INTERRUPTED
from specchat.plain.paper import Paper, spoken, spoken_figures
from specchat.stats.line import ending
from specchat.terminal.filter import clean_line
from specchat.watching.client import WatchClient
from specchat.watching.events import (
    Away,
    Began,
    Connected,
    Failed,
    Over,
    RoundEvent,
    Running,
    TurnedAway,
    Unreadable,
    WatchEvent,
)
from specchat.watching.followed import Following, LiveAnswer


def watch_plainly(client: WatchClient) -> int:
    """Prints answers until the user interrupts it or the server refuses, and returns the exit code."""
    paper = Paper(sys.stdout, sys.stderr, roles=True)
    host = clean_line(client.address.host)
    paper.say(f"Watching {host}. One request is followed at a time; nothing is stored. Ctrl+C ends it.")
    plain = PlainWatch(paper)
    try:
        for event in client.events():
            plain.take(event)
    except KeyboardInterrupt:
        paper.end_answer()
        return INTERRUPTED
    finally:
        client.close()
    return FAILED


class PlainWatch:
    """Prints the answer that is followed, then the one that runs longest."""

    def __init__(self, paper: Paper) -> None:
        self._paper = paper
        self._following = Following()
        self._printed = 0
        self._away = False

    def take(self, event: WatchEvent) -> None:
        """Takes an event of the server."""
        following = self._following
        match event:
            case Connected():
                if self._away:
                    self._paper.say("Connected again.")
                self._away = False
            case Running(numbers=numbers, lost=lost):
                if lost:
                    self._paper.say(f"{lost} events came too fast and were left out.")
                self._close(following.only(numbers))
            case Began(number=number, start=start):
                following.began(number, start)
            case RoundEvent(number=number, round=made):
                following.made(number, made)
            case Failed(number=number, message=message):
                following.failed(number, message)
            case Over(number=number, end=end):
                answer = following.ended(number, end)
                self._close([answer] if answer else [])
            case Unreadable(reason=reason):
                self._paper.say(f"A message of the server was left out: {reason}")
            case Away(reason=reason):
                self._close(following.only())
                if not self._away:
                    self._paper.say(f"{reason} (trying again until Ctrl+C)")
                self._away = True
            case TurnedAway(reason=reason):
                self._close(following.only())
                self._paper.say(reason)
        self._print()
        if (begun := following.choose()) is not None:
            self._begin(begun)

    def _begin(self, answer: LiveAnswer) -> None:
        self._printed = 0
        self._paper.say(f"Request {answer.number}: {answer.question}")
        self._paper.begin_answer()
        self._paper.stream(answer.trace().given)
        self._print()

    def _print(self) -> None:
        """Prints what is new of the answer that is followed."""
        followed = self._following.followed
        if followed is not None:
            for event in followed.rounds[self._printed :]:
                self._paper.stream(event.text)
            self._printed = len(followed.rounds)

    def _close(self, gone: list[LiveAnswer]) -> None:
        """Ends the answer that is followed, if it is among those that are over."""
        followed = self._following.followed
        if followed is None or not any(answer is followed for answer in gone):
            return
        self._paper.end_answer()
        trace = followed.trace()
        if trace.error is not None:
            self._paper.say(f"The answer failed: {trace.error}")
        elif followed.lost:
            self._paper.say("The end of this answer was not reported.")
        else:
            parts = (ending(trace.reason), spoken_figures(trace.stats, trace.start))
            self._paper.say(f"[{spoken(', '.join(part for part in parts if part))}.]")
