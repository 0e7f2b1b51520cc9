"""Compares the time of passes beside an idle place of a server with and without that place's memory in the cells.

`PYTHONPATH=tests python -m benchmarks.idle_places -m TARGET [--idle 8000 --read 256 --repeats 5]`. Prints medians.
"""

from __future__ import annotations

import argparse
import os
import random
from pathlib import Path
from statistics import median
from time import perf_counter

from specchat_assets import builtin_pair
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext


def seconds(begin: float) -> float:
    """Seconds since then."""
    return perf_counter() - begin


def timed(text: LlamaContext, tokens: list[int]) -> tuple[float, float]:
    """The seconds in which a text reads these tokens, and one more."""
    text.clear()
    begin = perf_counter()
    text.read(tokens, bool)
    reading, begin = seconds(begin), perf_counter()
    text.advance(tokens[:1], 1)
    return reading, seconds(begin)


def main() -> None:
    """Runs the measurement and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", type=Path, default=builtin_pair()[0])
    parser.add_argument("--idle", type=int, default=700, help="tokens of the idle place")
    parser.add_argument("--read", type=int, default=128, help="tokens that the other one reads")
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    model = LlamaModel(asked.model, gpu_layers=0)
    n_ctx = asked.idle + asked.read + 16
    native = NativeContext(model, n_ctx=n_ctx, max_rows=1, threads=os.cpu_count() or 1, texts=2)
    texts: list[LlamaContext] = []
    for _ in range(native.texts):
        LlamaContext(native, texts)
    idle, active = texts
    chance = random.Random(1)
    long, short = ([chance.randrange(model.vocabulary.size // 2) for _ in range(n)] for n in (asked.idle, asked.read))
    print(f"scores are {'kept' if native.attention.flash == 'off' else 'not kept: nothing is swapped out'}")
    beside, without, out, back = [], [], [], []
    for _ in range(asked.repeats):
        begin = perf_counter()
        idle.read(long, bool)
        back.append(seconds(begin))
        beside.append(timed(active, short))
        begin = perf_counter()
        active.swap_idle_out({1})
        out.append(seconds(begin))
        without.append(timed(active, short))
    for name, times in (("beside it", beside), ("swapped out", without)):
        reading, token = (median(column) for column in zip(*times, strict=True))
        print(f"{name:12} reading {asked.read} tokens {reading:6.2f} s, one token {1e3 * token:6.1f} ms")
    print(f"out {median(out):.2f} s, back {median(back[1:]):.2f} s" if back[1:] else f"out {median(out):.2f} s")
    native.close()
    model.close()


if __name__ == "__main__":
    main()
