"""Plain against speculative decoding on the built-in pair, kind by kind: tokens/s, α, τ and the time split.

The configurations take turns on each prompt, so that a machine that drifts does not decide; medians over prompts and
repeats are printed. Not a test: it passes no judgement.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from statistics import median

from rich.console import Console
from rich.table import Table

from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine, LoadOptions, Settings, TurnStats

CONFIGURATIONS = {
    "plain": ("none", 0),
    "model k=4": ("model", 4),
    "lookup k=4": ("lookup", 4),
    "lookup k=8": ("lookup", 8),
}
PARTS = ("draft_ms", "verify_ms", "rollback_ms", "other_ms")
SEED = 7


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer under one configuration, and whether its text was the plain one."""

    stats: TurnStats
    same_text: bool


def measure(engine: Engine, temperature: float, repeats: int, max_tokens: int) -> dict[tuple[str, str], list[Sample]]:
    """Every prompt under every configuration, interleaved."""
    samples: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for repeat in range(repeats):
        for kind, prompts in benchmark_prompts().items():
            for prompt in prompts:
                plain_text = None
                for name, (drafter, k) in CONFIGURATIONS.items():
                    sampling = replace(engine.recommended, temperature=temperature)
                    settings = Settings(k=k, drafter=drafter, sampling=sampling, max_tokens=max_tokens)
                    session = engine.session(settings=settings, seed=SEED + repeat)
                    for _ in session.generate(prompt):
                        pass
                    plain_text = session.text if plain_text is None else plain_text
                    samples[kind, name].append(Sample(session.stats, session.text == plain_text))
    return samples


def show(samples: dict[tuple[str, str], list[Sample]], title: str, console: Console) -> None:
    """One table a temperature. `× plain` is the median of the ratios prompt by prompt."""
    table = Table(title=title)
    for column in (
        "kind",
        "drafting",
        "tok/s",
        "× plain",
        "α",
        "τ",
        "draft",
        "verify",
        "rollback",
        "other",
        "same text",
    ):
        table.add_column(column, justify="left" if column in ("kind", "drafting") else "right")
    for (kind, name), taken in samples.items():
        plain = samples[kind, "plain"]
        rates = [sample.stats.tokens_per_second or 0.0 for sample in taken]
        ratios = [
            (sample.stats.tokens_per_second or 0.0) / (base.stats.tokens_per_second or 1.0)
            for sample, base in zip(taken, plain, strict=True)
        ]
        total = sum(sample.stats.decode_ms for sample in taken)
        accepted = sum(sample.stats.num_accepted_tokens for sample in taken)
        tested = accepted + sum(sample.stats.num_rejected_tokens for sample in taken)
        tokens, rounds = (sum(getattr(one.stats, field) for one in taken) for field in ("num_tokens", "num_rounds"))
        table.add_row(
            kind,
            name,
            f"{median(rates):.0f}",
            f"{median(ratios):.2f}",
            f"{accepted / tested:.2f}" if tested else "–",
            f"{tokens / rounds:.2f}",
            *(
                f"{sum(getattr(s.stats, part) for s in taken) / total:.1%}"
                for part in ("draft_ms", "verify_ms", "rollback_ms", "other_ms")
            ),
            f"{sum(sample.same_text for sample in taken)}/{len(taken)}",
        )
    console.print(table)


def main() -> None:
    """Parses the command line and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-m", "--model")
    parser.add_argument("-d", "--draft")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--temperatures", type=float, nargs="+", default=[0.0, 0.8])
    parser.add_argument("--compare-offload", action="store_true", help="once on the GPU and once without it")
    options = parser.parse_args()
    target, draft = (options.model, options.draft) if options.model else builtin_pair()
    console = Console(width=None if sys.stdout.isatty() else 120)
    for gpu_layers in (-1, 0) if options.compare_offload else (-1,):
        load = LoadOptions(gpu_layers=gpu_layers, gpu_layers_draft=gpu_layers)
        with Engine.load(target, draft, load) as engine:
            measure(engine, 0.0, 1, 16)
            for temperature in options.temperatures:
                samples = measure(engine, temperature, options.repeats, options.max_tokens)
                where = "all layers offloaded where the build can" if gpu_layers else "no layer offloaded"
                show(samples, f"temperature {temperature:g}, {where}", console)


if __name__ == "__main__":
    main()
