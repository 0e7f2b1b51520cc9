"""A real pair: llama-server's configurations beside specchat, in tokens per second from the prompt to the last token.

All configurations answer a prompt in turns, in changing order, each from a new start: a server is started for it, and
specchat's controller knows what passes cost and nothing else. That is a new session in a new home. In one session, a
configuration answers all prompts of a kind after one start, and keeps what it learns.

Each answer is added to the file of results; a later call gives the answers that are missing there. So the measurement
can be stopped, or made in parts with `--minutes`. Prints Markdown.

`make bench-real MODELS=FOLDER`; `docs/benchmarks.md` names the models.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import nan
from pathlib import Path

from benchmarks.peers.__main__ import BASE, OWN_PLAIN, line_of, tasks_of
from benchmarks.peers.contest import Measured, Result, Runner, Standing, Task, standings
from benchmarks.peers.llama_server import WITHOUT_HEAD, LlamaServer
from benchmarks.peers.specchat_runner import Specchat, open_engine
from specchat.bench.plan import Arm
from specchat_engine import Engine, Message
from specchat_engine.threads.processors import read_processors
from support.real_models import DRAFT, TARGET, find

NEW, ONE = "new sessions", "one session"
ARMS = ("none", "hybrid:auto", "lookup:3", "lookup:7", "lookup:15", "model:3")
REMEMBERING = ("none", "hybrid:auto")
SERVERS = {NEW: (*WITHOUT_HEAD,), ONE: ("plain", "ngram-mod")}
"""Of the server's types only `ngram-mod` keeps anything from one request to the next."""

Starts = Mapping[tuple[str, str], Callable[[], Runner]]
"""How each configuration starts, by tool and name."""


def arguments() -> argparse.Namespace:
    """Returns the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="bench-real", description=__doc__)
    parser.add_argument("folder", type=Path, help="has the models, under any names")
    parser.add_argument("--server", type=Path, help="path of llama.cpp's llama-server; left out if not given")
    parser.add_argument("--results", type=Path, help="file of the answers' times [bench-real.jsonl in the folder]")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no configuration after this time")
    parser.add_argument("--each", type=int, default=6, help="prompts of each kind")
    parser.add_argument("-n", "--max-tokens", type=int, default=128)
    parser.add_argument("-t", "--threads", type=int, default=read_processors().cores)
    parser.add_argument("--temperatures", type=float, nargs="+", default=[0.0, 0.8])
    parser.add_argument("--sessions", nargs="+", choices=[NEW, ONE], default=[NEW, ONE])
    parser.add_argument("--without", nargs="*", default=[], help="tools or configurations to leave out")
    parser.add_argument("--prompts", type=Path, default=Path(__file__).with_name("real_prompts.toml"))
    return parser.parse_args()


def starts(engine: Engine, asked: argparse.Namespace, pair: tuple[Path, Path], session: str) -> Starts:
    """Returns how the configurations start that are compared in this kind of session."""
    found: dict[tuple[str, str], Callable[[], Runner]] = {}
    for text in ARMS if session == NEW else REMEMBERING:
        arm = Arm.parse(text)
        found["specchat", arm.label] = partial(Specchat, engine, arm, one_session=session == ONE)
    log = Path(tempfile.gettempdir()) / "bench-real-llama-server.log"
    for name in SERVERS[session] if asked.server else ():
        found["llama-server", name] = partial(LlamaServer, asked.server, *pair, asked.threads, name, log)
    return {key: start for key, start in found.items() if not {*key, " ".join(key)} & {*asked.without}}


def sittings(tasks: Sequence[Task], session: str) -> Iterator[list[Task]]:
    """The tasks that a configuration answers after one start: one in a new session, all of a kind in one session."""
    if session == NEW:
        yield from ([task] for task in tasks)
    else:
        for group in dict.fromkeys((task.kind, task.temperature) for task in tasks):
            yield [task for task in tasks if (task.kind, task.temperature) == group]


def unanswered(
    sittings: Iterable[list[Task]], configurations: Sequence[tuple[str, str]], known: Measured
) -> Iterator[tuple[list[Task], list[tuple[str, str]]]]:
    """Yields the sittings that configurations lack, with these in the order of their turns."""
    for sitting in sittings:
        wanted = {place(task) for task in sitting}
        lacking = [key for key in configurations if not wanted <= {*map(place, known.get(key, ()))}]
        if lacking:
            yield sitting, random.Random(str(sorted(wanted))).sample(lacking, len(lacking))


def answered(start: Callable[[], Runner], sitting: Sequence[Task]) -> Iterator[dict[str, object]]:
    """Starts a configuration, warms it up with two tokens, and yields the lines of its answers."""
    runner = start()
    try:
        runner.answer(Task("", 0, 0, (Message("user", "Hello"),), sitting[0].ids[:8], 0.0, 1, 2))
        for task in sitting:
            yield line_of(runner, task, runner.answer(task))
    finally:
        runner.close()


def measure(asked: argparse.Namespace, results: Path) -> None:
    """Gives the answers that are missing in the file of results, and adds them to it."""
    pair = find(asked.folder, TARGET), find(asked.folder, DRAFT)
    with open_engine(*pair, asked.threads) as engine:
        tasks = [*tasks_of(argparse.Namespace(**vars(asked), earlier=[0]), engine)]
        end = time.monotonic() + asked.minutes * 60
        for session in asked.sessions:
            configurations = starts(engine, asked, pair, session)
            for sitting, lacking in unanswered(sittings(tasks, session), [*configurations], read(results, session)):
                for key in lacking:
                    if time.monotonic() > end:
                        return
                    print(f"{session}: {sitting[0].kind}, {' '.join(key)}", file=sys.stderr)
                    labels = {"session": session, "name": key[1]}
                    lines = [json.dumps(line | labels) for line in answered(configurations[key], sitting)]
                    with results.open("a") as file:
                        file.write("\n".join(lines) + "\n")


def place(task: Task) -> tuple[str, int, float]:
    """What distinguishes a task from the others."""
    return task.kind, task.number, task.temperature


def read(results: Path, session: str) -> dict[tuple[str, str], dict[Task, Result]]:
    """Returns the answers in the file of results, by tool and configuration."""
    found: dict[tuple[str, str], dict[Task, Result]] = defaultdict(dict)
    for line in map(json.loads, results.read_text().splitlines() if results.exists() else ()):
        if line["session"] == session:
            task = Task(line["kind"], line["number"], 0, (), (), line["temperature"], 0, 0)
            found[line["peer"], line["name"]][task] = Result(line["tokens"], line["milliseconds"])
    return found


def common(measured: Measured) -> Measured:
    """The answers to prompts that all configurations have answered, in the order of the table."""
    shared = set.intersection(*(set(answers) for answers in measured.values()))
    rows = [("specchat", Arm.parse(text).label) for text in ARMS] + [("llama-server", name) for name in WITHOUT_HEAD]
    return {
        key: {task: measured[key][task] for task in measured[key] if task in shared} for key in rows if key in measured
    }


def table(measured: Measured) -> Iterator[str]:
    """Yields the rows of a Markdown table: × llama-server's plain decoding (specchat's without it), T by T.

    A cell is the median over a kind's prompts; over all kinds it is their geometric mean with its 95 % interval.
    """
    temperatures = sorted({task.temperature for answers in measured.values() for task in answers})
    base = BASE if BASE in measured else OWN_PLAIN
    by_temperature = [standings(measured, base, temperature) for temperature in temperatures]
    kinds = [*dict.fromkeys(task.kind for answers in measured.values() for task in answers)]
    means = [f"all, T {temperature:g}" for temperature in temperatures]
    yield f"| tool | configuration | {' | '.join((*kinds, *means))} |"
    yield f"| --- | --- |{' ---: |' * len(kinds)}{' --- |' * len(means)}"
    for rows in zip(*by_temperature, strict=True):
        if (rows[0].peer, rows[0].name) == base:
            speeds = [", ".join(f"{row.speeds.get(kind, nan):.1f}" for row in rows) for kind in kinds]
            yield f"| {rows[0].peer} | {rows[0].name}, tokens/s | {' | '.join(speeds)} |{' |' * len(means)}"
        cells = [", ".join(f"{row.kinds.get(kind, nan):.2f}" for row in rows) for kind in kinds]
        yield f"| {rows[0].peer} | {rows[0].name} | {' | '.join((*cells, *map(over_all, rows)))} |"


def over_all(row: Standing) -> str:
    """A configuration's ratio over all kinds, with its interval if each kind has several prompts."""
    if row.over_all is None:
        return ""
    interval = row.over_all.interval
    return f"{row.over_all.value:.2f}" + (f" ({interval[0]:.2f}–{interval[1]:.2f})" if interval else "")


def main() -> int:
    """Measures what is missing and prints a table for each kind of session."""
    asked = arguments()
    results = asked.results or asked.folder / "bench-real.jsonl"
    try:
        measure(asked, results)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped early: these are the results so far", file=sys.stderr)
    for session in asked.sessions:
        measured = common(read(results, session) or {BASE: {}})
        if count := min(map(len, measured.values())):
            print(f"\n{session}, {count} answers each\n", *table(measured), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
