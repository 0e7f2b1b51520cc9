"""What the engine takes beside the models' passes, in time and in memory.

Prints for each temperature and way of drafting the share of decoding time outside the passes (medians over answers)
and the microseconds a round, then what the process took at most, what llama.cpp's own figures explain of that, and the
rest. Ways, temperatures and prompts take turns. `PYTHONPATH=tests python -m benchmarks.overhead [-m TARGET -d DRAFT]`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import astuple, replace
from pathlib import Path
from statistics import median

from specchat.bench.measure import peak_memory_bytes
from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine, LoadOptions, SamplingParams, Settings, TurnStats

WAYS: Mapping[str, Settings] = {
    "plain": Settings(k=0, drafter="none"),
    "k 4": Settings(k=4, drafter="model"),
    "own choice": Settings(k="auto", drafter="hybrid"),
}
_MEGABYTE = 1e6


def measure(engine: Engine, tokens: int, each: int, repeats: int) -> dict[tuple[float, str], list[TurnStats]]:
    """The statistics of all answers, by temperature and way."""
    found: dict[tuple[float, str], list[TurnStats]] = {}
    prompts = [text for texts in benchmark_prompts().values() for text in texts[:each]]
    for seed in range(repeats):
        for prompt in prompts:
            for temperature in (0.0, 0.8):
                for way, settings in WAYS.items():
                    sampling = SamplingParams(temperature=temperature)
                    session = engine.session(
                        settings=replace(settings, sampling=sampling, max_tokens=tokens), seed=seed
                    )
                    for _ in session.generate(prompt):
                        pass
                    found.setdefault((temperature, way), []).append(session.stats)
    return found


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", type=Path)
    parser.add_argument("-d", "--draft", type=Path)
    parser.add_argument("-t", "--threads", type=int, default=0)
    parser.add_argument("-c", "--ctx-size", type=int, default=1024)
    parser.add_argument("-n", "--max-tokens", type=int, default=128)
    parser.add_argument("--each", type=int, default=1, help="prompts of each kind")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    target, draft = (asked.model, asked.draft) if asked.model else builtin_pair()
    begun = peak_memory_bytes()
    with Engine.load(target, draft, LoadOptions(n_ctx=asked.ctx_size, threads=asked.threads)) as engine:
        found = measure(engine, asked.max_tokens, asked.each, asked.repeats)
        use = engine.memory_use
    for (temperature, way), all_stats in sorted(found.items()):
        share = median(100 * stats.other_ms / stats.decode_ms for stats in all_stats)
        each_us = median(1000 * stats.other_ms / stats.num_rounds for stats in all_stats)
        speed = median(stats.tokens_per_second or 0.0 for stats in all_stats)
        print(f"T {temperature:<3g} {way:10} {share:5.2f} %  {each_us:6.0f} us a round  {speed:7.1f} tokens/s")
    told, peak = sum(filter(None, astuple(use))), peak_memory_bytes()
    rest = peak - told
    print(
        f"peak {peak / _MEGABYTE:.1f} MB, models, caches and buffers {told / _MEGABYTE:.1f} MB, "
        f"the rest {rest / _MEGABYTE:.1f} MB, of which {begun / _MEGABYTE:.1f} MB before anything was loaded"
    )


if __name__ == "__main__":
    main()
