"""Fifty edits of one repository, as a coding assistant makes them: plain lookup, stores, and llama-server's n-grams.

Every edit pastes a function and asks for it with one name changed. Later edits come back to functions that were edited
before. Each edit is a conversation of its own. Scopes: the conversation ("plain lookup"), everything that was said in
the session ("chat"), a store of the answers so far, brought up to date every few edits ("past chats"), and a store of
the repository's files ("folder"). Each server keeps running, so that its n-gram pools remember earlier edits.

`PYTHONPATH=tests python -m benchmarks.edits -m TARGET --server PATH`. The built-in target can make such edits, and so
can `benchmarks.scaled_pair` made from it.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import dedent

from rich.console import Console
from rich.table import Table

from benchmarks.peers.contest import Task
from benchmarks.peers.llama_server import CONFIGURATIONS, LlamaServer
from benchmarks.peers.specchat_runner import as_read
from specchat.bench.summary import geometric_mean, paired_ratios
from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions, Message, Session, Settings
from specchat_engine.stores import write_suffixes
from specchat_engine.threads.processors import read_processors

SHORTEST, LONGEST = 160, 500
"""Characters of a function that is edited."""

REFRESHED = 5
"""The store of past chats is brought up to date after so many edits."""

NAMES = ("amount", "found", "entry", "result", "whole", "source", "value", "items", "place", "mark")
NGRAM_TYPES = [name for name in CONFIGURATIONS if name.startswith("ngram")]


@dataclass(frozen=True, slots=True)
class Measured:
    """An answer: its tokens, the target's passes, and the milliseconds from the prompt to the last token."""

    tokens: int
    passes: int
    milliseconds: float


@dataclass(slots=True)
class Way:
    """A way of drafting. `scopes` are the stores that it may use."""

    name: str
    drafter: str
    lookup: str = "conversation"
    scopes: tuple[str, ...] = ()
    session: Session | None = None
    measured: list[Measured] = field(default_factory=list)


def functions(folder: Path) -> list[str]:
    """The functions of a folder's Python files that are neither too short nor too long."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text("utf-8")
        lines = source.splitlines()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                text = dedent("\n".join(lines[node.lineno - 1 : node.end_lineno]))
                if SHORTEST <= len(text) <= LONGEST and text.isascii():
                    found.append(text)
    return found


def edits(folder: Path, count: int, seed: int) -> Iterator[str]:
    """The requests, one edit each: two of three come back to what was edited before."""
    dice = random.Random(seed)
    fresh = functions(folder)
    dice.shuffle(fresh)
    edited: list[str] = []
    while count:
        again = edited and dice.random() < 2 / 3
        text = edited.pop(dice.randrange(len(edited))) if again else fresh.pop()
        names = Counter(re.findall(r"\b[a-z][a-z_]{3,}\b", text))
        often = [name for name, times in names.items() if times > 1 and name not in ("self", "return", "None")]
        new = [name for name in NAMES if name not in names]
        if not (often and new):
            continue
        old, name = dice.choice(often), dice.choice(new)
        edited.append(re.sub(rf"\b{old}\b", name, text))
        count -= 1
        yield f"Rename {old} to {name}:\n{text}"


def ways() -> list[Way]:
    """What is compared within specchat."""
    return [
        Way("plain", "none"),
        Way("plain lookup", "lookup"),
        Way("chat", "lookup", "all"),
        Way("past chats", "hybrid", "conversation", ("chats",)),
        Way("folder", "hybrid", "conversation", ("folder",)),
        Way("chat, past chats, folder", "hybrid", "all", ("chats", "folder")),
    ]


class Stores:
    """The two stores, as files."""

    def __init__(self, folder: Path, repository: Path, tokenize: Callable[[str], Sequence[int]]) -> None:
        self.paths = {name: folder / f"{name}.suffixes" for name in ("chats", "folder")}
        self._answers: list[Sequence[int]] = []
        texts = (path.read_text("utf-8") for path in sorted(repository.rglob("*.py")))
        write_suffixes(self.paths["folder"], [tokenize(text) for text in texts])
        write_suffixes(self.paths["chats"], [])

    def add(self, answer: Sequence[int]) -> None:
        """Keeps an answer; every few of them are written to the store of past chats."""
        self._answers.append(answer)
        if len(self._answers) % REFRESHED == 0:
            unfinished = self.paths["chats"].with_suffix(".unfinished")
            write_suffixes(unfinished, self._answers)
            unfinished.replace(self.paths["chats"])


def answer(engine: Engine, way: Way, stores: Stores, text: str, tokens: int, seed: int) -> Measured:
    """One edit with empty caches. Every way has a controller of its own."""
    engine.forget()
    engine.use_stores({name: stores.paths[name] for name in way.scopes})
    settings = Settings(
        drafter=way.drafter,
        lookup=way.lookup,
        sampling=replace(engine.recommended, temperature=0.0),
        max_tokens=tokens,
    )
    if way.session is None:
        shared, engine.controller = engine.controller, copy.deepcopy(engine.controller)
        way.session, engine.controller = engine.session(settings=settings, seed=seed), shared
    for _ in way.session.answer([Message("user", text)], 0):
        pass
    stats = way.session.stats
    return Measured(stats.num_tokens, stats.num_rounds, stats.wall_ms)


def main() -> int:
    """Runs all ways on every edit in turn, in changing order, and prints the table."""
    parser = argparse.ArgumentParser(prog="edits", description=__doc__)
    parser.add_argument("-m", "--model", type=Path, help="target, the built-in one by default")
    parser.add_argument("--repository", type=Path, default=Path("engine"))
    parser.add_argument("--server", type=Path, help="path of llama.cpp's llama-server; left out if not given")
    parser.add_argument("--edits", type=int, default=50)
    parser.add_argument("-n", "--max-tokens", type=int, default=400)
    parser.add_argument("-t", "--threads", type=int, default=read_processors().cores)
    asked = parser.parse_args()
    target = asked.model or builtin_pair()[0]
    options = LoadOptions(threads=asked.threads, n_ctx=1024)
    servers: dict[str, list[Measured]] = defaultdict(list)
    own = ways()
    with Engine.load(target, options=options, stores={}) as engine, tempfile.TemporaryDirectory() as scratch:
        stores = Stores(Path(scratch), asked.repository, lambda text: engine.vocabulary.tokenize(text, special=False))
        for _ in engine.measuring():
            pass
        running = [
            LlamaServer(asked.server, target, target, asked.threads, name, Path(scratch) / f"{number}.log")
            for number, name in enumerate(["plain", *NGRAM_TYPES] if asked.server else [])
        ]
        try:
            for number, text in enumerate(edits(asked.repository, asked.edits, seed=1)):
                dice = random.Random(number)
                for way in dice.sample(own, len(own)):
                    way.measured.append(answer(engine, way, stores, text, asked.max_tokens, number + 1))
                said = own[0].session
                stores.add(said.answer_ids if said else [])
                ids = tuple(as_read(engine, [Message("user", text)]).tokens)
                task = Task("edit", number, 0, (), ids, 0.0, number + 1, asked.max_tokens)
                for server in dice.sample(running, len(running)):
                    reply = server.answer_with_counts(task)
                    servers[server.name].append(Measured(*reply))
                print(f"{number + 1} of {asked.edits}", end="\r", file=sys.stderr)
        finally:
            for server in running:
                server.close()
    report({way.name: way.measured for way in own}, servers)
    return 0


def report(own: dict[str, list[Measured]], servers: dict[str, list[Measured]]) -> None:
    """One row for each way: τ, and the speed against the same tool's plain decoding and against plain lookup."""
    table = Table(title="from the prompt to the last token", title_justify="left")
    table.add_column("way", no_wrap=True)
    for heading in ("τ", "tokens/s", "× own plain", "× specchat's plain lookup", "95 %"):
        table.add_column(heading, justify="right")
    speeds = {
        (tool, name): {number: one.tokens / one.milliseconds * 1000 for number, one in enumerate(measured)}
        for tool, found in (("specchat", own), ("llama-server", servers))
        for name, measured in found.items()
    }
    for (tool, name), speed in speeds.items():
        measured = (own if tool == "specchat" else servers)[name]
        tau = sum(one.tokens for one in measured) / sum(one.passes for one in measured)
        plain = geometric_mean([paired_ratios(speed, speeds[tool, "plain"])])
        lookup = geometric_mean([paired_ratios(speed, speeds["specchat", "plain lookup"])])
        interval = lookup.interval if lookup else None
        table.add_row(
            f"{tool} {name}",
            f"{tau:.2f}",
            f"{sorted(speed.values())[len(speed) // 2]:.0f}",
            f"{plain.value:.2f}" if plain else "",
            f"{lookup.value:.2f}" if lookup else "",
            f"{interval[0]:.2f} to {interval[1]:.2f}" if interval else "",
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    sys.exit(main())
