"""What sharper drafts bring: the acceptance rate and the speed with and without, by temperature and kind of prompt.

Two engines answer the same prompts in turns, with equal seeds, so both give the same text: one draws its drafts from q,
the other from the power of q that it learns. Both draft four tokens with the model. Prints a table.
`PYTHONPATH=tests python -m benchmarks.sharpness [-m TARGET -d DRAFT] [--prompts 9]`.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter

from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine, Round, Settings
from specchat_engine.settings import AUTO, Sharpness

TEMPERATURES = (0.5, 0.8, 1.0, 1.2)
K = 4
WAYS: tuple[Sharpness, ...] = (1.0, AUTO)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one answer showed: `sharpness` is the mean over its drafts, `speed` is in tokens per second."""

    accepted: int
    drafted: int
    sharpness: float
    speed: float


def answer(engine: Engine, text: str, settings: Settings, seed: int) -> Answer:
    """Answers one prompt in a new conversation."""
    session = engine.session(settings=settings, seed=seed)
    began = perf_counter()
    rounds = [event for event in session.generate(text) if isinstance(event, Round)]
    seconds = perf_counter() - began
    drafts = [each for each in rounds if each.drafted]
    powers = [each.sharpness for each in drafts] or [1.0]
    accepted = sum(each.num_accepted for each in drafts)
    drafted = sum(len(each.drafted) for each in drafts)
    tokens = sum(each.num_accepted + 1 for each in rounds)
    return Answer(accepted, drafted, sum(powers) / len(powers), tokens / seconds)


def rows(target: Path, draft: Path, prompts: int) -> Iterator[str]:
    """A line of the table for each temperature and kind, as soon as it is measured."""
    for temperature in TEMPERATURES:
        found: dict[tuple[str, Sharpness], list[Answer]] = defaultdict(list)
        with ExitStack() as open_engines:
            engines = {way: open_engines.enter_context(Engine.load(target, draft)) for way in WAYS}
            for engine in engines.values():
                list(engine.measuring())
            for (kind, texts), number in product(benchmark_prompts().items(), range(prompts)):
                for way in sorted(WAYS, key=str, reverse=bool(number % 2)):
                    sampling = replace(engines[way].recommended, temperature=temperature)
                    settings = Settings(drafter="model", k=K, sharpness=way, sampling=sampling, max_tokens=160)
                    found[kind, way].append(answer(engines[way], texts[number % len(texts)], settings, number + 1))
        for kind in benchmark_prompts():
            plain, sharp = (found[kind, way] for way in WAYS)
            rates = [
                sum(each.accepted for each in one) / max(1, sum(each.drafted for each in one)) for one in (plain, sharp)
            ]
            speed = median(after.speed / before.speed for before, after in zip(plain, sharp, strict=True))
            power = sum(each.sharpness for each in sharp) / len(sharp)
            yield f"| {temperature} | {kind} | {rates[0]:.3f} | {rates[1]:.3f} | {power:.1f} | {speed:.2f} |"


def main() -> None:
    """Runs the measurement and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target, draft = builtin_pair()
    parser.add_argument("-m", "--model", type=Path, default=target)
    parser.add_argument("-d", "--draft", type=Path, default=draft)
    parser.add_argument("--prompts", type=int, default=9, help="for each kind and temperature")
    asked = parser.parse_args()
    print("| temperature | kind | α, β 1 | α, β learned | mean β | speed, × β 1 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in rows(asked.model, asked.draft, asked.prompts):
        print(row, flush=True)


if __name__ == "__main__":
    main()
