"""Measures the time of passes over 1 to 33 tokens, and the largest possible speed-up of a copy.

Widths come in random order. Each pass is made twice and the second counts. Prints medians, in milliseconds and relative
to a pass over one token, also as a curve for the catalog. A copy takes the time of its prompt, which drafting cannot
shorten, and for each token at least the time per token of the best of these passes.
`PYTHONPATH=tests python -m benchmarks.widths [-m TARGET]`.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter_ns

from specchat_assets import builtin_pair
from specchat_assets.catalog import catalog
from specchat_engine import Engine, LoadOptions
from specchat_engine.models import SessionModel
from specchat_engine.policy.calibration import pass_ms


def main() -> None:
    """Runs the measurement and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", type=Path, default=builtin_pair()[0])
    parser.add_argument("--depths", type=int, nargs="+", default=[60], help="tokens before the passes")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--prompt", type=int, default=256, help="tokens of the prompt that is copied")
    parser.add_argument("--answer", type=int, default=235, help="tokens of the copy")
    asked = parser.parse_args()
    n_ctx = max(1024, max(asked.depths) + 64)
    with Engine.load(asked.model, None, LoadOptions(n_ctx=n_ctx)) as engine:
        reading = [read(engine.memory, asked.prompt) for _ in range(asked.repeats)]
        for depth in asked.depths:
            times = passes(engine.memory, depth, asked.repeats)
            plain = times[1]
            for width, took in times.items():
                units = took / plain
                print(
                    f"{width:3} tokens {took:8.2f} ms {units:6.2f} × plain {units / width:5.2f} each, after {depth:,}"
                )
            known = catalog().costs.widths
            print(f"{engine.target.quantisation} = {[round(times[width] / plain, 2) for width in known]}")
            report_copy(median(reading), asked.prompt, asked.answer, times)


def read(target: SessionModel, length: int) -> float:
    """Returns the milliseconds in which a prompt of `length` tokens is read."""
    target.clear()
    begin = perf_counter_ns()
    target.read(range(length), lambda: False)
    return (perf_counter_ns() - begin) / 1e6


def passes(target: SessionModel, depth: int, repeats: int) -> dict[int, float]:
    """Returns the median milliseconds of a pass over each number of tokens, after `depth` tokens."""
    chance, times = random.Random(1), defaultdict[int, list[float]](list)
    target.clear()
    target.read([token % 4000 for token in range(depth)], lambda: False)
    widths = range(1, target.max_rows + 1)
    for _ in range(repeats):
        for width in chance.sample(widths, len(widths)):
            pass_ms(target, width, width)
            times[width].append(pass_ms(target, width, width))
    return {width: median(times[width]) for width in widths}


def report_copy(prompt_ms: float, prompt: int, answer: int, times: Mapping[int, float]) -> None:
    """Prints how fast the prompt is read, and the largest possible speed-up of a copy after it."""
    plain, least_ms = times[1], min(took / width for width, took in times.items())
    ceiling = (prompt_ms + answer * plain) / (prompt_ms + answer * least_ms)
    print(f"a prompt of {prompt} tokens: {prompt_ms:.0f} ms, {prompt_ms / prompt / plain:.2f} × plain each")
    print(f"a copy of {answer} tokens after it: at most {ceiling:.2f} × plain decoding")


if __name__ == "__main__":
    main()
