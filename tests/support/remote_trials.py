"""What is tried on a real server beside counting: a cancel, conversations that do not fit, and the whole program."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

from specchat.engine_process.protocol import ChatMessage, Ended, Event, Notice, TaskFailed
from specchat_engine.decoding.rounds import Round
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from support.llama_servers import page_of, until
from support.remote_answers import ask, connected

ENDLESS = SamplingParams(temperature=0.0, repeat_penalty=100.0, penalty_last_n=-1)
"""No token comes twice, and the one that ends an answer is in the prompt: answers go on to the end of the context."""

_ENDLESS_QUESTION = ChatMessage("user", "Count as far as you can.")
_SHORT = Settings(sampling=SamplingParams(temperature=0.0), max_tokens=8)
_CUT_SHORT = 800
"""Fewer tokens than an answer has that fills the context of 1024."""

_TEXT = "Sentence about drafts and rounds of a target. "


@dataclass(frozen=True)
class Gauges:
    """The names of a server's metrics: how many requests run, and how many tokens it has generated."""

    running: str
    generated: str


LLAMA_SERVER = Gauges("llamacpp:requests_processing", "llamacpp:tokens_predicted_total")
VLLM = Gauges("vllm:num_requests_running", "vllm:generation_tokens_total")


def value(url: str, name: str) -> float:
    """The value of one of a server's metrics, by the beginning of its line. Raises RuntimeError if it has none."""
    found = re.search(rf"^{re.escape(name)}[^ ]* ([0-9.e+]+)$", page_of(f"{url}/metrics"), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{url} has no metric {name}")
    return float(found[1])


def cancel_stops(url: str, gauges: Gauges, after: int) -> bool:
    """Whether the server stops when an endless answer is cancelled after so many rounds, and keeps what was said."""
    before = value(url, gauges.generated)
    events: list[Event] = []
    with connected(url) as client:
        for event in ask(client, [_ENDLESS_QUESTION], Settings(sampling=ENDLESS)):
            events.append(event)
            if sum(isinstance(one, Round) for one in events) == after:
                client.cancel()
        stopped = _has_stopped(url, gauges, before)
    last, said = events[-1], "".join(event.text for event in events if isinstance(event, Round))
    return isinstance(last, Ended) and last.reason == "cancelled" and last.text == said != "" and stopped


def leaving_stops(url: str, gauges: Gauges, number: int) -> bool:
    """Whether the server stops when so many clients go away while their answers run."""
    before = value(url, gauges.generated)
    with ExitStack() as leaving:
        for _ in range(number):
            client = leaving.enter_context(connected(url))
            answer = leaving.enter_context(closing(ask(client, [_ENDLESS_QUESTION], Settings(sampling=ENDLESS))))
            next(event for event in answer if isinstance(event, Round))
    return _has_stopped(url, gauges, before, number)


def _has_stopped(url: str, gauges: Gauges, before: float, answers: int = 1) -> bool:
    """Whether no request runs, and fewer tokens were generated since `before` than so many whole answers have."""
    idle = until(lambda: value(url, gauges.running) == 0)
    return idle and value(url, gauges.generated) - before < answers * _CUT_SHORT


def is_shortened(url: str) -> bool:
    """Whether a conversation that is longer than the context is answered, and it is said that it was shortened."""
    said = [ChatMessage("user" if place % 2 == 0 else "assistant", _TEXT * 40) for place in range(9)]
    with connected(url) as client:
        events = list(ask(client, said, _SHORT))
    notices = [event.text for event in events if isinstance(event, Notice)]
    return isinstance(events[-1], Ended) and any("oldest messages" in text for text in notices)


def one_question_is_too_long(url: str) -> bool:
    """Whether a question that alone is longer than the context is refused in one line."""
    with connected(url) as client:
        last = list(ask(client, [ChatMessage("user", _TEXT * 2000)], _SHORT))[-1]
    return isinstance(last, TaskFailed) and "context" in last.message and "\n" not in last.message


def fills_the_context(url: str) -> bool:
    """Whether an answer that nothing else ends goes on to the end of the context, and says that this was why."""
    with connected(url) as client:
        last = list(ask(client, [_ENDLESS_QUESTION], Settings(sampling=ENDLESS)))[-1]
    return isinstance(last, Ended) and last.reason == "context"


def trials(gauges: Gauges) -> Sequence[tuple[str, Callable[[str], bool]]]:
    """What is tried, each with its name."""
    return (
        ("a cancel stops the server", lambda url: cancel_stops(url, gauges, 3)),
        ("so does a cancel at the first token", lambda url: cancel_stops(url, gauges, 1)),
        ("clients that go away free the server", lambda url: leaving_stops(url, gauges, 4)),
        ("a long conversation is shortened", is_shortened),
        ("a question that does not fit is refused", one_question_is_too_long),
        ("an answer may fill the context", fills_the_context),
    )
