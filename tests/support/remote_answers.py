"""Answers of a real server: what their rounds add up to, what the last events say, and what the server counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from specchat.engine_process.protocol import ChatMessage, Ended, Event, Generate, Loaded, Recounted
from specchat.remote.address import read_address
from specchat.remote.client import RemoteClient
from specchat_engine.decoding.rounds import Round
from specchat_engine.load_options import LoadOptions
from specchat_engine.settings import Settings
from support.llama_servers import page_of

COUNTERS = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
AT_ONCE = 4
_COUNTER = re.compile(r"^\w+:spec_decode_(\w+?)_total(?:\{[^}]*\})? ([0-9.e+]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What some answers did: `shown` by their rounds, `reported` in their last events, `counted` by the server.

    `unequal` are the answers whose text is not that of their rounds.
    """

    answers: int
    shown: Counter[str]
    reported: Counter[str]
    counted: Counter[str]
    unequal: int = 0

    @property
    def agrees(self) -> bool:
        """Whether all three are the same, and all texts."""
        return self.shown == self.reported == self.counted and not self.unequal

    def __str__(self) -> str:
        figures = "  ".join(
            f"{name} {self.shown[name]}/{self.reported[name]}/{self.counted[name]}" for name in COUNTERS
        )
        return f"{self.answers} answers  {figures}  {self.unequal} other texts"


Compare = Callable[[str, Sequence[str], Settings], Outcome]
"""Asks the server at a URL some prompts with these settings."""


def counters(url: str, *, key: str = "") -> Counter[str]:
    """The server's counters of speculation, from its `/metrics`: sums over all labels."""
    total = Counter[str]()
    for name, value in _COUNTER.findall(page_of(f"{url}/metrics", key=key)):
        if name in COUNTERS:
            total[name] += round(float(value))
    return total


@contextmanager
def connected(url: str) -> Iterator[RemoteClient]:
    """A client of the server. Raises RuntimeError if it does not answer."""
    client = RemoteClient(read_address(url))
    try:
        last = list(client.load(client.first_target, None, LoadOptions()))[-1]
        if not isinstance(last, Loaded):
            raise RuntimeError(str(last))
        yield client
    finally:
        client.close()


def ask(client: RemoteClient, messages: Sequence[ChatMessage], settings: Settings) -> Iterator[Event]:
    """The events of one answer."""
    return client.generate(Generate(messages, seed=7, settings=settings))


def rounds_of(events: Sequence[Event]) -> list[Round]:
    """The rounds of an answer, as they are in the end."""
    again = [event for event in events if isinstance(event, Recounted)]
    return [*again[-1].rounds] if again else [event for event in events if isinstance(event, Round)]


def totals(events: Sequence[Event]) -> tuple[Counter[str], Counter[str]]:
    """What the rounds of an answer add up to, and what its last event says. Raises RuntimeError if it failed."""
    last = events[-1]
    if not isinstance(last, Ended):
        raise RuntimeError(str(last))
    drafts = [event for event in rounds_of(events) if event.drafted]
    shown = Counter(
        num_drafts=len(drafts),
        num_draft_tokens=sum(len(event.drafted) for event in drafts),
        num_accepted_tokens=sum(event.num_accepted for event in drafts),
    )
    return shown, Counter({name: last.stats[name] for name in COUNTERS})


def one_by_one(url: str, prompts: Sequence[str], settings: Settings) -> Outcome:
    """Answers prompts one after the other."""
    before = counters(url)
    shown, reported, unequal = Counter[str](), Counter[str](), 0
    with connected(url) as client:
        for prompt in prompts:
            events = list(ask(client, [ChatMessage("user", prompt)], settings))
            ours, theirs = totals(events)
            shown, reported = shown + ours, reported + theirs
            unequal += "".join(event.text for event in rounds_of(events)) != getattr(events[-1], "text", None)
    return Outcome(len(prompts), shown, reported, counters(url) - before, unequal)


def several_at_once(url: str, prompts: Sequence[str], settings: Settings) -> Outcome:
    """Answers prompts through several clients at the same time."""
    before = counters(url)
    parts = [prompts[place::AT_ONCE] for place in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = [*pool.map(lambda part: one_by_one(url, part, settings), parts)]
    shown = sum((one.shown for one in results), Counter[str]())
    reported = sum((one.reported for one in results), Counter[str]())
    return Outcome(len(prompts), shown, reported, counters(url) - before, sum(one.unequal for one in results))
