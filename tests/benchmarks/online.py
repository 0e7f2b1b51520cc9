"""How a draft model learns from a stream of chat turns on one subject, against the same draft left as it was.

Every turn is answered twice with the same seed, once with the draft that learns and once with the frozen one. The text
is the same, so that their α can be compared token for token. After enough new tokens `specchat train online` runs as it
does in the background of a chat. In the end both drafts answer the benchmark's prompts, which shows what was forgotten.

`PYTHONPATH=tests python -m benchmarks.online`. It keeps its data in a folder of its own.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from specchat.learning import Learned, Learning
from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine, LoadOptions, Message, Settings
from specchat_engine.decoding.recorder import TurnRecorder

WHO = ("a keeper", "an old sailor", "a girl named Ada", "a young engineer", "two brothers", "a painter", "a lost dog")
WHAT = ("a storm", "a broken lamp", "a ship in the fog", "a letter in a bottle", "the last night", "a strange light")
ASKED = (
    "Tell me a story about {who} in a lighthouse and {what}.",
    "Write a short tale: {who}, a lighthouse, {what}.",
    "Invent a story in which {who} lives in a lighthouse and meets {what}.",
)


def questions(count: int, seed: int) -> Iterator[str]:
    """Questions on one subject; most of them differ."""
    dice = random.Random(seed)
    for _ in range(count):
        yield dice.choice(ASKED).format(who=dice.choice(WHO), what=dice.choice(WHAT))


class Counted:
    """An engine, and the α of what its draft model drafted lately."""

    def __init__(self, target: Path, draft: Path) -> None:
        self.engine = Engine.load(target, draft, LoadOptions(threads=1))
        self.accepted = self.tested = 0

    def answer(self, text: str, seed: int, tokens: int, recorder: TurnRecorder | None = None) -> tuple[list[int], ...]:
        """The ids of prompt and answer, with four tokens drafted in each round."""
        sampling = replace(self.engine.recommended, temperature=0.8)
        settings = Settings(k=4, drafter="model", sampling=sampling, max_tokens=tokens)
        session = self.engine.session(settings=settings, seed=seed)
        session.watch = recorder
        for _ in session.answer([Message("user", text)], 0):
            pass
        self.accepted += session.stats.num_accepted_tokens
        self.tested += session.stats.num_tested_tokens
        return session.prompt_ids, session.answer_ids

    def alpha(self) -> float:
        """α since the last call."""
        found = self.accepted / max(1, self.tested)
        self.accepted = self.tested = 0
        return found


def train(target: Path, draft: Path, minutes: float) -> str:
    """Runs the training as the background of a chat would, and returns what it says."""
    command = [sys.executable, "-m", "specchat", "train", "online", "-m", str(target), "-d", str(draft)]
    done = subprocess.run([*command, "--minutes", str(minutes)], capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""


def by_kind(counted: Counted, tokens: int) -> dict[str, float]:
    """α on the benchmark's prompts."""
    found = {}
    for kind, texts in benchmark_prompts(short=True).items():
        for number, text in enumerate(texts[:3]):
            counted.answer(text, number + 1, tokens)
        found[kind] = counted.alpha()
    return found


def main() -> int:
    """Runs the stream and prints α by the tokens that were seen."""
    parser = argparse.ArgumentParser(prog="online", description=__doc__)
    parser.add_argument("-m", "--model", type=Path)
    parser.add_argument("-d", "--draft", type=Path)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=2.0, help="each training takes at most so long")
    parser.add_argument("-n", "--max-tokens", type=int, default=128)
    asked = parser.parse_args()
    builtin_target, builtin_draft = builtin_pair()
    target, draft = asked.model or builtin_target, asked.draft or builtin_draft
    began = time.monotonic()
    console = Console(width=110)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_DATA_HOME"] = scratch
        learning = Learning()
        learning.turn(on=True)
        learned = learning.of(target, draft)
        frozen, learner = Counted(target, draft), Counted(target, draft)
        table = Table(title="α at k 4, temperature 0.8, since the line before", title_justify="left")
        for heading in ("turns", "tokens seen", "frozen", "learning", "minutes", "then"):
            table.add_column(heading, justify="right" if heading != "then" else "left")
        for number, text in enumerate(questions(asked.turns, seed=1), 1):
            recorder = TurnRecorder()
            prompt, said = learner.answer(text, number, asked.max_tokens, recorder)
            assert frozen.answer(text, number, asked.max_tokens)[1] == said
            keep(learned, recorder, prompt, said)
            if learned.is_due or number == asked.turns:
                alphas = f"{frozen.alpha():.3f}", f"{learner.alpha():.3f}"
                happened = train(target, draft, asked.minutes) if number < asked.turns else ""
                learner.engine.exchange_draft(learned.current)
                minutes = (time.monotonic() - began) / 60
                table.add_row(str(number), f"{learned.recorded.num_tokens:,}", *alphas, f"{minutes:.0f}", happened)
                print(
                    f"{number} turns, {minutes:.0f} minutes: frozen {alphas[0]}, learning {alphas[1]}", file=sys.stderr
                )
        console.print(table)
        kinds = Table(title="α on the benchmark's prompts afterwards", title_justify="left")
        before, after = by_kind(frozen, asked.max_tokens), by_kind(learner, asked.max_tokens)
        kinds.add_column("draft")
        for kind in before:
            kinds.add_column(kind, justify="right")
        kinds.add_row("frozen", *(f"{value:.2f}" for value in before.values()))
        kinds.add_row("learned", *(f"{value:.2f}" for value in after.values()))
        console.print(kinds)
    return 0


def keep(learned: Learned, recorder: TurnRecorder, prompt: list[int], answer: list[int]) -> None:
    """Keeps a turn as the chat does."""
    turn = recorder.turn(prompt, answer, "free")
    if turn is not None:
        learned.recorded.add(turn)
        learned.saw(len(turn.best))


if __name__ == "__main__":
    sys.exit(main())
