"""Calls of tools, thoughts and edits: α and speed of each drafter.

Calls are required of the model, with arguments that a grammar holds to a schema. Thoughts are measured alone, without
the answers after them, and need a chat template with a switch. Edits paste a function and ask for it with one name
changed. Chats are there to compare with. Every drafter answers each prompt with empty caches, in changing order, and
learns from its own answers alone: from the second round over the prompts on it has met this kind of text before.

`PYTHONPATH=tests python -m benchmarks.kinds -m TARGET -d DRAFT`, the built-in pair by default.
"""

from __future__ import annotations

import argparse
import copy
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.edits import edits
from specchat.bench.summary import geometric_mean, paired_ratios
from specchat.cli.verify_kinds import CALLS, THOUGHTS, Ask, asks_by_kind
from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine, LoadOptions, Message, Prompt, Session, Settings, TurnStats
from specchat_engine.decoding.stats import Counted, ReasoningStats
from specchat_engine.settings import SAME, THOUGHT_VERIFIERS
from specchat_engine.threads.processors import read_processors

EDITS, CHATS = "edits", "chats"
KINDS = (CALLS, THOUGHTS, EDITS, CHATS)
WAYS = {"none": "plain", "lookup": "prompt lookup", "model": "draft model", "hybrid": "own choice"}
"""The compared drafters with the names that the table gives them."""

Counts = ReasoningStats
"""What is counted of an answer, or of its thought."""

Place = tuple[int, int]
"""The number of a prompt and of the repetition."""


@dataclass(frozen=True, slots=True)
class Way:
    """A drafter with a session that only it uses, and so with a controller of its own."""

    drafter: str
    session: Session


def asks(kind: str, engine: Engine, count: int, repository: Path) -> Sequence[Ask]:
    """The prompts of a kind; none if the model cannot serve it."""
    if kind == EDITS:
        return [Ask(text) for text in edits(repository, count, seed=1)]
    chats = [Ask(texts[0]) for texts in benchmark_prompts(short=True).values()]
    if kind == CHATS:
        return chats[:count]
    if kind == THOUGHTS and not engine.thinking.exists:
        print("thoughts are left out: this model's chat template has no switch for thinking", file=sys.stderr)
        return []
    found = [ask for ask in asks_by_kind([kind], engine, count)[kind] if not (ask.grammar or ask.think_tokens)]
    if kind == THOUGHTS:
        found = [*(replace(chat, thinks=True) for chat in chats), *found]
    return found[:count]


def way_for(engine: Engine, drafter: str) -> Way:
    """A way that starts with the measured costs and nothing learned."""
    shared, engine.controller = engine.controller, copy.deepcopy(engine.controller)
    try:
        return Way(drafter, engine.session())
    finally:
        engine.controller = shared


def answered(engine: Engine, way: Way, ask: Ask, settings: Settings, seed: int) -> Counts | None:
    """One answer with empty caches; None if nothing of this kind was written."""
    engine.forget()
    session = way.session
    session.seed = seed
    session.settings = replace(settings, drafter=way.drafter, thinking="on" if ask.thinks else "off")
    asked = Prompt(
        [Message("user", ask.prompt)], ask.tools, shown=engine.answer_format.marks, must_call=bool(ask.tools)
    )
    for _ in session.answer(asked, 0):
        pass
    return session.stats.reasoning if ask.thinks else counted(session.stats)


def counted(stats: TurnStats) -> Counts:
    """The counts of a whole answer."""
    return Counts(
        stats.num_tokens,
        stats.num_rounds,
        stats.num_draft_tokens,
        stats.num_accepted_tokens,
        stats.num_rejected_tokens,
        stats.decode_ms,
    )


def measured(engine: Engine, asked: argparse.Namespace) -> Iterator[tuple[str, str, Place, Counts]]:
    """The counts of each answer, with its kind, its drafter and its place."""
    ways = [way_for(engine, name) for name in WAYS if name in engine.drafters]
    settings = Settings(
        sampling=replace(engine.recommended, temperature=asked.temperature),
        thought_verifier=asked.thought_verifier,
        lookup="conversation",
        max_tokens=asked.max_tokens,
    )
    for kind in asked.kinds:
        prompts = asks(kind, engine, asked.prompts, asked.repository)
        for repetition in range(asked.repeats):
            for number, ask in enumerate(prompts):
                dice = random.Random(f"{kind} {repetition} {number}")
                for way in dice.sample(ways, len(ways)):
                    counts = answered(engine, way, ask, settings, seed=repetition + 1)
                    print(f"{kind} {repetition + 1}.{number + 1} {way.drafter}    ", end="\r", file=sys.stderr)
                    if counts:
                        yield kind, way.drafter, (number, repetition), counts


def report(found: Mapping[tuple[str, str], Mapping[Place, Counts]]) -> None:
    """One row for each kind and drafter, with the speed against plain decoding of the same prompts."""
    table = Table(title="the time of decoding, without the prompt", title_justify="left")
    for heading in ("kind", "drafter"):
        table.add_column(heading, no_wrap=True)
    for heading in ("answers", "tokens", "α", "τ", "tokens/s", "× plain", "95 %"):
        table.add_column(heading, justify="right")
    for (kind, drafter), answers in found.items():
        total: Counted = sum(answers.values(), Counts())
        speeds = {place: counts.tokens_per_second or 0.0 for place, counts in answers.items()}
        plain = {place: counts.tokens_per_second or 0.0 for place, counts in found[kind, "none"].items()}
        ratio = geometric_mean([paired_ratios(speeds, plain)]) if drafter != "none" else None
        interval = ratio.interval if ratio else None
        table.add_row(
            kind,
            WAYS[drafter],
            f"{len(answers)}",
            f"{total.num_tokens}",
            "" if total.alpha is None else f"{total.alpha:.2f}",
            "" if total.block_efficiency is None else f"{total.block_efficiency:.2f}",
            f"{total.tokens_per_second or 0:.1f}",
            f"{ratio.value:.2f}" if ratio else "",
            f"{interval[0]:.2f} to {interval[1]:.2f}" if interval else "",
        )
    Console(width=140).print(table)


def main() -> int:
    """Measures every kind and prints the table."""
    parser = argparse.ArgumentParser(prog="kinds", description=__doc__)
    parser.add_argument("-m", "--model", type=Path, help="target, the built-in pair by default")
    parser.add_argument("-d", "--draft", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--prompts", type=int, default=3, help="of each kind")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--thought-verifier", choices=THOUGHT_VERIFIERS, default=SAME)
    parser.add_argument("-n", "--max-tokens", type=int, default=256)
    parser.add_argument("--repository", type=Path, default=Path("engine"), help="where the edited functions are from")
    parser.add_argument("-t", "--threads", type=int, default=read_processors().cores)
    asked = parser.parse_args()
    target, draft = (asked.model, asked.draft) if asked.model else builtin_pair()
    found: dict[tuple[str, str], dict[Place, Counts]] = defaultdict(dict)
    with Engine.load(target, draft, LoadOptions(threads=asked.threads, n_ctx=2048)) as engine:
        for _ in engine.measuring():
            pass
        for kind, drafter, place, counts in measured(engine, asked):
            found[kind, drafter][place] = counts
    report(dict(sorted(found.items(), key=lambda one: (KINDS.index(one[0][0]), [*WAYS].index(one[0][1])))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
