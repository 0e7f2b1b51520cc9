"""Prints the minimum milliseconds to sample one row, for many settings, on a peaked and a flat row.

`PYTHONPATH=tests python -m benchmarks.sampling [--vocabulary 152000 --repeats 21]`.
"""

from __future__ import annotations

import argparse
from itertools import product
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from specchat_engine import SamplingParams
from specchat_engine.sampling.sampler import Sampler

NO_CUTS = SamplingParams(top_k=0, top_p=1, min_p=0)


def rows(size: int) -> dict[str, NDArray[np.float32]]:
    """Rows [V] of logits with different shapes."""
    random = np.random.default_rng(0)
    normal = random.standard_normal(size)
    peaked = 3 * normal
    peaked[:5] += [22, 20, 19.5, 18, 14]
    return {
        "peaked": peaked.astype(np.float32),
        "spread": (3 * normal).astype(np.float32),
        "flat": (0.01 * normal).astype(np.float32),
        "equal": np.zeros(size, np.float32),
    }


def cases() -> dict[str, SamplingParams]:
    """Settings by a short description."""
    found = {"temperature 0": SamplingParams(temperature=0)}
    for top_k, top_p, min_p, typical_p in product((0, 40), (1.0, 0.95), (0.0, 0.05), (1.0, 0.9)):
        name = f"top-k {top_k}, top-p {top_p}, min-p {min_p}, typical-p {typical_p}"
        found[name] = SamplingParams(top_k=top_k, top_p=top_p, min_p=min_p, typical_p=typical_p)
    found["top-k 100000, top-p 0.95, typical-p 0.9"] = SamplingParams(top_k=100_000, min_p=0, typical_p=0.9)
    found["top-p 0.95, penalties and bias"] = SamplingParams(
        top_k=0, min_p=0, repeat_penalty=1.1, frequency_penalty=0.2, logit_bias=((1, -2.0), (7, float("-inf")))
    )
    return found


def milliseconds(params: SamplingParams, row: NDArray[np.float32], repeats: int) -> float:
    """The minimum time to find the candidates of a row and sample from them."""
    sampler = Sampler(params, 1)
    context = list(range(200))
    times = []
    for position in range(repeats):
        began = perf_counter()
        sampler.draw(sampler.candidates(row, context), position)
        times.append(perf_counter() - began)
    return 1000 * min(times)


def main() -> None:
    """Prints one line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocabulary", type=int, default=152_000)
    parser.add_argument("--repeats", type=int, default=21)
    options = parser.parse_args()
    shapes = rows(options.vocabulary)
    print(f"{'milliseconds a row':60}" + "".join(f"{shape:>10}" for shape in shapes))
    for name, params in cases().items():
        times = (milliseconds(params, row, options.repeats) for row in shapes.values())
        print(f"{name:60}" + "".join(f"{each:10.3f}" for each in times))


if __name__ == "__main__":
    main()
