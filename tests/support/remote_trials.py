"""What is tried on a real server beside counting: a cancel, conversations that do not fit, and the whole program."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from specchat.worker.protocol import ChatMessage, Ended, Event, Notice, WorkerFailed
from specchat_engine.decoding.rounds import Round
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from support.llama_servers import page_of, until
from support.remote_answers import ask, connected

GREEDY = SamplingParams(temperature=0.0)
END_TOKEN = 2
"""The token that ends an answer of the built-in target."""

ENDLESS = Settings(sampling=SamplingParams(temperature=0.0, logit_bias=((END_TOKEN, float("-inf")),)))
_TEXT = "Sentence about drafts and rounds of a target. "


@dataclass(frozen=True)
class Gauges:
    """The names of a server's metrics: how many requests run, and how many were ended early, if that is counted."""

    running: str
    ended_early: str = ""


LLAMA_SERVER = Gauges("llamacpp:requests_processing")
VLLM = Gauges("vllm:num_requests_running", 'vllm:request_success_total{engine="0",finished_reason="abort"')


def value(url: str, name: str) -> float:
    """The value of one of a server's metrics, by the beginning of its line. Raises RuntimeError if it has none."""
    found = re.search(rf"^{re.escape(name)}[^ ]* ([0-9.e+]+)$", page_of(f"{url}/metrics"), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{url} has no metric {name}")
    return float(found[1])


def cancel_stops(url: str, gauges: Gauges, after: int) -> bool:
    """Whether the server stops when an endless answer is cancelled after so many rounds, and keeps what was said."""
    early = value(url, gauges.ended_early) if gauges.ended_early else 0.0
    events: list[Event] = []
    with connected(url) as client:
        answer = ask(client, [ChatMessage("user", "Count as far as you can.")], ENDLESS)
        for event in answer:
            events.append(event)
            if sum(isinstance(one, Round) for one in events) == after:
                client.cancel()
        idle = until(lambda: value(url, gauges.running) == 0)
        if gauges.ended_early:
            idle &= until(lambda: value(url, gauges.ended_early) == early + 1)
    last, said = events[-1], "".join(event.text for event in events if isinstance(event, Round))
    return isinstance(last, Ended) and last.reason == "cancelled" and last.text == said != "" and idle


def stop_frees_all(url: str, gauges: Gauges, number: int) -> bool:
    """Whether the server stops when clients go away while their answers run, several at the same time."""
    early = value(url, gauges.ended_early) if gauges.ended_early else 0.0
    with ExitStack() as leaving:
        for _ in range(number):
            client = leaving.enter_context(connected(url))
            answer = ask(client, [ChatMessage("user", "Count as far as you can.")], ENDLESS)
            next(event for event in answer if isinstance(event, Round))
    idle = until(lambda: value(url, gauges.running) == 0)
    return idle and (not gauges.ended_early or until(lambda: value(url, gauges.ended_early) == early + number))


def is_shortened(url: str) -> bool:
    """Whether a conversation that is longer than the context is answered, and it is said that it was shortened."""
    said = [ChatMessage("user" if place % 2 == 0 else "assistant", _TEXT * 40) for place in range(9)]
    with connected(url) as client:
        events = list(ask(client, said, Settings(max_tokens=8)))
    notices = [event.text for event in events if isinstance(event, Notice)]
    return isinstance(events[-1], Ended) and any("oldest messages" in text for text in notices)


def one_question_is_too_long(url: str) -> bool:
    """Whether a question that alone is longer than the context is refused in one line."""
    with connected(url) as client:
        last = list(ask(client, [ChatMessage("user", _TEXT * 2000)], Settings(max_tokens=8)))[-1]
    return isinstance(last, WorkerFailed) and "context" in last.message and "\n" not in last.message


def fills_the_context(url: str) -> bool:
    """Whether an answer that nothing else ends goes on to the end of the context, and says that this was why."""
    with connected(url) as client:
        last = list(ask(client, [ChatMessage("user", "Count as far as you can.")], ENDLESS))[-1]
    return isinstance(last, Ended) and last.reason == "context"


def trials(gauges: Gauges) -> Sequence[tuple[str, Callable[[str], bool]]]:
    """What is tried, each with its name."""
    return (
        ("a cancel stops the server", lambda url: cancel_stops(url, gauges, 3)),
        ("so does a cancel at the first token", lambda url: cancel_stops(url, gauges, 1)),
        ("clients that go away free the server", lambda url: stop_frees_all(url, gauges, 4)),
        ("a long conversation is shortened", is_shortened),
        ("a question that does not fit is refused", one_question_is_too_long),
        ("an answer may fill the context", fills_the_context),
    )
