"""Measures the time of passes over 1 to 33 tokens, and the largest possible speed-up of a copy.

Widths come in random order. Each pass is made twice and the second counts. Prints medians, in milliseconds and relative
to a pass over one token. A copy takes the time of its prompt, which drafting cannot shorten, and for each token at
least the time per token of the best of these passes. `PYTHONPATH=tests python -m benchmarks.widths [-m TARGET]`.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from pathlib import Path
from statistics import median
from time import perf_counter_ns

from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions
from specchat_engine.policy.calibration import pass_ms


def main() -> None:
    """Runs the measurement and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", type=Path, default=builtin_pair()[0])
    parser.add_argument("--depth", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--prompt", type=int, default=256, help="tokens of the prompt that is copied")
    parser.add_argument("--answer", type=int, default=235, help="tokens of the copy")
    asked = parser.parse_args()
    chance, times, reading = random.Random(1), defaultdict[int, list[float]](list), []
    with Engine.load(asked.model, None, LoadOptions(n_ctx=1024)) as engine:
        target = engine.memory
        widths = range(1, target.max_rows + 1)
        for _ in range(asked.repeats):
            target.clear()
            begin = perf_counter_ns()
            target.read(range(asked.prompt), lambda: False)
            reading.append((perf_counter_ns() - begin) / 1e6)
            target.rewind(asked.depth)
            for width in chance.sample(widths, len(widths)):
                pass_ms(target, width, width)
                times[width].append(pass_ms(target, width, width))
    plain = median(times[1])
    for width in widths:
        units = median(times[width]) / plain
        print(f"{width:3} tokens {units * plain:8.2f} ms {units:6.2f} × plain {units / width:5.2f} each")
    prompt_ms, least_ms = median(reading), min(median(times[width]) / width for width in widths)
    ceiling = (prompt_ms + asked.answer * plain) / (prompt_ms + asked.answer * least_ms)
    print(f"a prompt of {asked.prompt} tokens: {prompt_ms:.0f} ms, {prompt_ms / asked.prompt / plain:.2f} × plain each")
    print(f"a copy of {asked.answer} tokens after it: at most {ceiling:.2f} × plain decoding")


if __name__ == "__main__":
    main()
