"""Measures the speed of answers while other programs keep cores busy, with fixed and with default threads.

Prints, for each number of busy programs, the median tokens/s of plain decoding and of the default policy: with one
thread per core, and with the number of threads that the engine chooses. The two take turns. Each has its own engine,
which stays loaded as in the app. An answer that takes longer than `--patience` seconds is cut off there, and the
tokens it has so far count.
`PYTHONPATH=tests python -m benchmarks.crowded`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions, SamplingParams, Settings
from specchat_engine.threads.processors import read_processors

PROMPTS = ("Tell me a short story about a fox.", "What is speculative decoding?", "Show me the code of textwrap.indent")
WAYS = {
    "plain": Settings(k=0, drafter="none", max_tokens=160, sampling=SamplingParams(temperature=0)),
    "own choice": Settings(k="auto", drafter="hybrid", max_tokens=160, sampling=SamplingParams(temperature=0)),
}
_ENDLESS = "while True: pass"


@contextmanager
def busy(programs: int) -> Iterator[None]:
    """Run `programs` busy processes until the end of the block."""
    running = [subprocess.Popen([sys.executable, "-c", _ENDLESS]) for _ in range(programs)]
    try:
        yield
    finally:
        for program in running:
            program.kill()
            program.wait()


def speed(engine: Engine, prompt: str, settings: Settings, patience: float) -> float:
    """Tokens per second of one answer, or of the part that arrived in time."""
    session = engine.session(settings=settings, seed=1)
    latest = time.monotonic() + patience
    for _ in session.generate(prompt):
        if time.monotonic() > latest:
            session.cancel()
    return session.stats.tokens_per_second or 0.0


def measure(models: Sequence[Path], programs: int, rounds: int, patience: float) -> dict[tuple[str, str], list[float]]:
    """The speeds of all answers, by configuration and by how the threads were chosen."""
    target, draft = models
    fixed = LoadOptions(threads=read_processors().usual)
    found: dict[tuple[str, str], list[float]] = {}
    with Engine.load(target, draft, fixed) as held, Engine.load(target, draft) as free, busy(programs):
        for turn in range(rounds):
            for way, settings in WAYS.items():
                for threads, engine in (("fixed", held), ("default", free)):
                    prompt = PROMPTS[turn % len(PROMPTS)]
                    found.setdefault((way, threads), []).append(speed(engine, prompt, settings, patience))
    return found


def main() -> None:
    """Runs the measurement and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", type=Path)
    parser.add_argument("-d", "--draft", type=Path)
    parser.add_argument("--programs", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rounds", type=int, default=9, help="answers of each way, with either choice of threads")
    parser.add_argument("--patience", type=float, default=10.0, metavar="SECONDS")
    asked = parser.parse_args()
    models = (asked.model, asked.draft) if asked.model else builtin_pair()
    print(f"{read_processors().usual} cores; median tokens/s, with a fixed thread a core and by default")
    for programs in asked.programs:
        found = measure(models, programs, asked.rounds, asked.patience)
        for way in WAYS:
            held, free = found[way, "fixed"], found[way, "default"]
            usual = f"{median(held):6.0f} {median(free):6.0f}  {median(free) / median(held):6.2f} x"
            print(f"{programs} busy, {way:10} {usual}  worst {min(held):.0f} and {min(free):.0f}", flush=True)


if __name__ == "__main__":
    main()
