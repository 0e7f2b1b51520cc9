"""Measures specchat and other tools in turns, with the same prompts, weights, threads and sampling. Prints tables."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.peers.contest import Measured, Result, Runner, Task, best_of, standings
from benchmarks.peers.llama_server import CONFIGURATIONS, WITHOUT_HEAD, LlamaServer
from benchmarks.peers.specchat_runner import Specchat, as_read, open_engine, prompt_ids, said
from specchat.bench.plan import PLAIN, Arm, read_prompts
from specchat_assets import builtin_pair
from specchat_engine import Engine, Message, Prompt
from specchat_engine.threads.processors import read_processors

BASE = ("llama-server", "plain")
OURS, OWN_PLAIN = ("specchat", "hybrid auto"), ("specchat", "plain")
REMEMBERING = ("specchat", "hybrid auto, one session")

_LOG = 600
"""How many characters of a server's log are shown if it does not start."""

SHORTEST_TURN = 40
"""Earlier turns may lack this many tokens."""


def main() -> int:
    """Runs the comparison."""
    asked = arguments()
    builtin_target, builtin_draft = builtin_pair()
    target, draft = asked.model or builtin_target, asked.draft or builtin_draft
    with open_engine(target, draft, asked.threads) as engine, tempfile.TemporaryDirectory() as logs:
        runners = [*contestants(asked, engine, target, draft, Path(logs))]
        measured: dict[tuple[str, str], dict[Task, Result]] = {(runner.peer, runner.name): {} for runner in runners}
        tasks = [*tasks_of(asked, engine)]
        try:
            for runner in runners:
                runner.answer(tasks[0])
            for place, task in enumerate(tasks):
                order = random.Random(place).sample(runners, len(runners))
                for runner in order:
                    measured[runner.peer, runner.name][task] = result = runner.answer(task)
                    if asked.json:
                        with asked.json.open("a") as file:
                            file.write(json.dumps(line_of(runner, task, result)) + "\n")
                print(f"{place + 1} of {len(tasks)}", end="\r", file=sys.stderr)
        except KeyboardInterrupt:
            print("stopped early: these are the results so far", file=sys.stderr)
        finally:
            for runner in runners:
                runner.close()
    console = Console(width=180 if not sys.stdout.isatty() else None)
    for temperature in asked.temperatures:
        for earlier in asked.earlier:
            report(console, measured, temperature, earlier)
    return 0


def line_of(runner: Runner, task: Task, result: Result) -> dict[str, object]:
    """An answer as it stands in the file of `--json`."""
    return {
        "peer": runner.peer,
        "name": runner.name,
        "kind": task.kind,
        "number": task.number,
        "temperature": task.temperature,
        "earlier": task.earlier,
        "prompt": len(task.ids),
        "tokens": result.tokens,
        "milliseconds": result.milliseconds,
    }


def arguments() -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(prog="peers", description=__doc__)
    parser.add_argument("--server", type=Path, help="path of llama.cpp's llama-server; left out if not given")
    parser.add_argument("-m", "--model", type=Path, help="target, the built-in one by default")
    parser.add_argument("-d", "--draft", type=Path)
    parser.add_argument("--head", type=Path, help="an EAGLE-3 head, for the server's configurations with one")
    parser.add_argument("-t", "--threads", type=int, default=read_processors().cores)
    parser.add_argument("-n", "--max-tokens", type=int, default=256)
    parser.add_argument("--each", type=int, default=3, help="prompts of each kind")
    parser.add_argument("--temperatures", type=float, nargs="+", default=[0.0, 0.8])
    parser.add_argument("--earlier", type=int, nargs="+", default=[0], help="tokens of earlier turns before a prompt")
    parser.add_argument("--prompts", type=Path, help="a file of prompts as for `specchat bench`")
    parser.add_argument("--without", nargs="*", default=[], help="tools to leave out: llama-cpp-python, transformers")
    parser.add_argument("--server-only", nargs="*", help="its configurations; default: all that it can use")
    parser.add_argument("--json", type=Path, help="add the time of every answer to this file at once")
    return parser.parse_args()


def contestants(asked: argparse.Namespace, engine: Engine, target: Path, draft: Path, logs: Path) -> Iterator[Runner]:
    """All configurations of all tools."""
    for arm in (PLAIN, Arm("hybrid", "auto")):
        yield Specchat(engine, arm)
    yield Specchat(engine, Arm("hybrid", "auto"), one_session=True)
    if asked.server:
        for number, name in enumerate(asked.server_only or (CONFIGURATIONS if asked.head else WITHOUT_HEAD)):
            log = logs / f"{number}.log"
            try:
                yield LlamaServer(asked.server, target, draft, asked.threads, name, log, head=asked.head)
            except RuntimeError as error:
                print(f"left out: {error}\n{log.read_text(errors='replace')[-_LOG:]}", file=sys.stderr)
    if "llama-cpp-python" not in asked.without:
        from benchmarks.peers.llama_python import LOOKUPS, LlamaPython

        for lookup in LOOKUPS:
            yield LlamaPython(target, asked.threads, lookup)
    if "transformers" not in asked.without:
        import torch

        from benchmarks.peers.hugging_face import CONFIGURATIONS as WAYS
        from benchmarks.peers.hugging_face import Models, Transformers

        models = Models(target, draft, asked.threads, torch.bfloat16)
        for way in WAYS:
            yield Transformers(models, way, min(engine.vocabulary.ends))


def tasks_of(asked: argparse.Namespace, engine: Engine) -> Iterator[Task]:
    """The prompts, alternating between kinds. No tool gets a turn that specchat would drop."""
    prompts = read_prompts(asked.prompts)
    for number in range(asked.each):
        for kind, texts in prompts.items():
            for earlier in asked.earlier:
                messages = (*earlier_turns(engine, texts, number, earlier), Message("user", texts[number % len(texts)]))
                read = as_read(engine, messages)
                messages, ids = tuple(Prompt.of(read.asked).messages), tuple(read.tokens)
                for temperature in asked.temperatures:
                    yield Task(kind, number, earlier, messages, ids, temperature, number + 1, asked.max_tokens)


def earlier_turns(engine: Engine, texts: Sequence[str], number: int, tokens: int) -> tuple[Message, ...]:
    """Turns that came before a prompt: the next prompts of its kind with the target's own answers."""
    turns: tuple[Message, ...] = ()
    while tokens and (left := tokens - len(prompt_ids(engine, turns) if turns else ())) > SHORTEST_TURN:
        number += 1
        question = texts[number % len(texts)]
        answer = said(engine, question, max(1, left - len(prompt_ids(engine, [Message("user", question)]))))
        turns = (*turns, Message("user", question), Message("assistant", answer))
    return turns


def report(console: Console, measured: Measured, temperature: float, earlier: int) -> None:
    """Prints one row for each configuration, then specchat's default against the best configuration of each tool.

    All are compared with the server's plain decoding if a server takes part.
    """
    base = BASE if BASE in measured else OWN_PLAIN
    found = standings(measured, base, temperature, earlier)
    kinds = [*found[0].speeds]
    table = Table(
        title=f"temperature {temperature:g}, {earlier} earlier tokens: tokens/s from the prompt to the last token",
        title_justify="left",
    )
    for heading in ("tool", "configuration"):
        table.add_column(heading, no_wrap=True)
    for heading in (*kinds, f"× {' '.join(base)}", "95 %"):
        table.add_column(heading, justify="right", no_wrap=True)
    for standing in found:
        over_all = standing.over_all
        interval = over_all.interval if over_all else None
        table.add_row(
            standing.peer,
            standing.name,
            *(f"{standing.speeds.get(kind, 0):.0f}" for kind in kinds),
            f"{over_all.value:.2f}" if over_all else "",
            f"{interval[0]:.2f} to {interval[1]:.2f}" if interval else "",
        )
    console.print(table)
    for peer in dict.fromkeys(peer for peer, _ in measured):
        best = best_of(found, peer)
        for ours in standings(measured, (best.peer, best.name), temperature, earlier):
            name = ours.peer, ours.name
            if name in (OURS, REMEMBERING) and ours.over_all and (best.peer, best.name) != name:
                interval = ours.over_all.interval
                sure = f"; 95 % {interval[0]:.2f} to {interval[1]:.2f}" if interval else ""
                console.print(
                    f"specchat {ours.name} is {ours.over_all.value:.2f} × {peer} at its best ({best.name}){sure}"
                )
    console.print()


if __name__ == "__main__":
    sys.exit(main())
