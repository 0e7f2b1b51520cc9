"""Compares the time of passes with and without llama.cpp's flash attention, by depth and width.

Both contexts are loaded and take turns. Each pass is made twice and the second counts. Prints medians and their ratio.
`PYTHONPATH=tests python -m benchmarks.attention [-m TARGET] [-c 4096 --depths 1000 2000 3900]`.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from pathlib import Path
from statistics import median
from time import perf_counter_ns

import numpy as np

from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions
from specchat_engine.models import SessionModel

WAYS = {"flash": "on", "scores kept": "off"}


def timed(memory: SessionModel, tokens: list[int], depth: int, width: int) -> float:
    """The milliseconds of a pass over `width` tokens after `depth` others. The tokens are removed again."""
    for _ in range(2):
        memory.rewind(depth)
        before = memory.busy_ns
        memory.advance(tokens[depth : depth + width], width)
    memory.rewind(depth)
    return (memory.busy_ns - before) / 1e6


def apart(memory: SessionModel, tokens: list[int], depth: int, width: int) -> float:
    """The largest difference between the logits of a wide pass and those of passes over one token each."""
    narrow = [memory.advance(tokens[place : place + 1], 1)[0].copy() for place in range(depth, depth + width)]
    memory.rewind(depth)
    wide = memory.advance(tokens[depth : depth + width], width)
    furthest = float(np.abs(wide - np.array(narrow)).max())
    memory.rewind(depth)
    return furthest


def main() -> None:
    """Runs the measurement and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", type=Path, default=builtin_pair()[0])
    parser.add_argument("-c", "--ctx-size", type=int, default=1024)
    parser.add_argument("--depths", type=int, nargs="+", default=[60, 300, 600])
    parser.add_argument("--widths", type=int, nargs="+", default=[1, 2, 5, 9, 17, 33])
    parser.add_argument("--repeats", type=int, default=9)
    asked = parser.parse_args()
    chance = random.Random(1)
    engines = {
        way: Engine.load(asked.model, None, LoadOptions(n_ctx=asked.ctx_size, flash_attention=flash))
        for way, flash in WAYS.items()
    }
    size = min(engine.vocabulary.size for engine in engines.values())
    tokens = [chance.randrange(size // 2) for _ in range(asked.ctx_size)]
    times: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    reading: dict[str, list[float]] = defaultdict(list)
    furthest: dict[tuple[str, int], float] = {}
    for repeat in range(asked.repeats):
        for way in sorted(engines, reverse=bool(repeat % 2)):
            memory = engines[way].memory
            memory.clear()
            begin = perf_counter_ns()
            memory.read(tokens[: asked.depths[-1]], lambda: False)
            memory.advance(tokens[:1], 1)
            reading[way].append((perf_counter_ns() - begin) / 1e6)
            for depth in asked.depths:
                memory.read(tokens[:depth], lambda: False)
                for width in asked.widths:
                    times[way, depth, width].append(timed(memory, tokens, depth, width))
                furthest[way, depth] = apart(memory, tokens, depth, 8)
    flash, kept = WAYS
    for depth in asked.depths:
        for width in asked.widths:
            one, other = (median(times[way, depth, width]) for way in WAYS)
            print(f"depth {depth:5}  width {width:2}  {flash} {one:8.2f} ms  {kept} {other:8.2f} ms  {one / other:.2f}")
        print(
            f"depth {depth:5}  logits of 8 at once and one by one: {flash} {furthest[flash, depth]:.3f}, "
            f"{kept} {furthest[kept, depth]:.3f} apart"
        )
    one, other = (median(reading[way]) for way in WAYS)
    print(f"reading {asked.depths[-1]} tokens: {flash} {one:.0f} ms, {kept} {other:.0f} ms, {one / other:.2f}")
    for engine in engines.values():
        engine.close()


if __name__ == "__main__":
    main()
