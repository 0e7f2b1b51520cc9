"""Several answers at the same time: specchat with drafts and without, and llama-server with its draft lengths.

Each client asks its next question when its last one is answered. In every block each tool answers the same questions
at each number of clients, in changing order; ratios are of the same block. Speeds are tokens a second of all clients
together, and of one answer.

`PYTHONPATH=tests python -m benchmarks.parallel -m TARGET -d DRAFT --server PATH`
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.peers.contest import Task
from benchmarks.peers.llama_server import LlamaServer
from benchmarks.peers.specchat_runner import as_read
from specchat.bench.plan import read_prompts
from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions, Message, Session, Settings
from specchat_engine.threads.processors import read_processors

CLIENTS = (1, 2, 4, 8)
SERVERS = ("plain", "draft 2", "draft 4", "draft 8")
OWN = ("specchat", "specchat plain")

Answer = Callable[[int, Task], int]
"""Answers a task as one of the clients, counted from 0; the number of tokens."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One tool with some clients: tokens a second, of all together and of an answer on average."""

    together: float
    each: float


def run(answer: Answer, tasks: Sequence[Task], clients: int) -> Measured:
    """Lets clients work off the tasks: each takes the next one when it is free."""
    waiting = iter(tasks)

    def work(client: int) -> list[tuple[int, float]]:
        found = []
        for task in waiting:
            began = time.perf_counter()
            tokens = answer(client, task)
            found.append((tokens, time.perf_counter() - began))
        return found

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        answers = [one for found in threads.map(work, range(clients)) for one in found]
    seconds = time.perf_counter() - began
    return Measured(
        sum(tokens for tokens, _ in answers) / seconds,
        float(np.mean([tokens / took for tokens, took in answers])),
    )


def by_specchat(engine: Engine, sessions: Sequence[Session], settings: Settings) -> Answer:
    """Answers in the engine's places, each with an empty memory."""

    def answer(client: int, task: Task) -> int:
        session = sessions[client]
        session.settings = replace(settings, sampling=replace(settings.sampling, temperature=task.temperature))
        session.seed = task.seed
        with session.pair.lock:
            session.pair.clear()
        for _ in session.answer(task.messages, 0):
            pass
        return session.stats.num_tokens

    return answer


def main() -> int:
    """Measures all tools, and prints a row for each number of clients."""
    parser = argparse.ArgumentParser(prog="parallel", description=__doc__)
    parser.add_argument("-m", "--model", type=Path, help="target, the built-in one by default")
    parser.add_argument("-d", "--draft", type=Path, help="draft model, the built-in one by default")
    parser.add_argument("--server", type=Path, help="path of llama.cpp's llama-server; left out if not given")
    parser.add_argument("--servers", nargs="+", default=SERVERS, choices=SERVERS, help="its configurations")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("-n", "--max-tokens", type=int, default=96)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("-t", "--threads", type=int, default=read_processors().cores)
    asked = parser.parse_args()
    target, draft = (asked.model, asked.draft) if asked.model else builtin_pair()
    most = max(asked.clients)
    options = LoadOptions(threads=asked.threads, threads_draft=asked.threads, n_ctx=1024, parallel=most)
    measured: dict[tuple[str, int], list[Measured]] = defaultdict(list)
    with Engine.load(target, draft, options) as engine, tempfile.TemporaryDirectory() as scratch:
        for _ in engine.measuring():
            pass
        usual = Settings(sampling=engine.recommended, max_tokens=asked.max_tokens)
        tools: dict[str, Answer] = {}
        for name in OWN:
            settings = replace(usual, drafter="none" if name == "specchat plain" else "hybrid")
            places = [engine.session(settings=settings, place=place) for place in range(most)]
            for session in places:
                session.measures_plain = False  # as in `specchat serve`
            tools[name] = by_specchat(engine, places, settings)
        servers = [
            LlamaServer(asked.server, target, draft, asked.threads, name, Path(scratch) / f"{number}.log", most)
            for number, name in enumerate(asked.servers if asked.server else ())
        ]
        try:
            for server in servers:
                tools[f"llama-server {server.name}"] = lambda _, task, server=server: server.answer(task).tokens
            prompts = [(kind, text) for kind, texts in read_prompts(None).items() for text in texts]
            for block in range(-1, asked.blocks):
                dice = random.Random(block)
                tasks = [
                    Task(
                        kind,
                        number,
                        0,
                        (asked_for := (Message("user", text),)),
                        tuple(as_read(engine, asked_for).tokens),
                        asked.temperature,
                        dice.randrange(2**31),
                        asked.max_tokens,
                    )
                    for number, (kind, text) in enumerate(dice.sample(prompts, 3 * most))
                ]
                for clients in asked.clients:
                    for name in dice.sample([*tools], len(tools)):
                        found = run(tools[name], tasks[: 3 * max(clients, 2)], clients)
                        if block >= 0:  # in the first block everybody warms up
                            measured[name, clients].append(found)
                        print(f"block {block + 1}: {clients} clients, {name}: {found.together:.0f}/s", file=sys.stderr)
        finally:
            for server in servers:
                server.close()
    report(measured, asked.clients)
    return 0


def report(measured: dict[tuple[str, int], list[Measured]], loads: Sequence[int]) -> None:
    """Medians, and how specchat stands beside its own plain decoding and beside llama-server's best."""
    table = Table(title="tokens a second, all clients together (one answer)", title_justify="left")
    names = list(dict.fromkeys(name for name, _ in measured))
    for heading in ("clients", *names, "× own plain", "× llama-server's best"):
        table.add_column(heading, justify="right")
    for clients in loads:
        speeds = {name: [one.together for one in measured[name, clients]] for name in names}
        cells = [
            f"{np.median(speeds[name]):.0f} ({np.median([one.each for one in measured[name, clients]]):.0f})"
            for name in names
        ]
        own, plain = speeds["specchat"], speeds["specchat plain"]
        peers = [name for name in names if name not in OWN]
        best = max(peers, key=lambda name: float(np.median(speeds[name])), default=None)
        ratios = [ratio(own, plain), f"{ratio(own, speeds[best])} ({best})" if best else "—"]
        table.add_row(str(clients), *cells, *ratios)
    Console(width=200).print(table)


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """The median of the ratios of the same block."""
    return f"{np.median(np.divide(ours, theirs)):.2f}"


if __name__ == "__main__":
    raise SystemExit(main())
