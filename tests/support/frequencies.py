"""The distribution of the real loop's texts, counted over many seeds and compared with the exact one."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from specchat_engine import Drafter, SamplingParams
from specchat_engine.decoding.verification import Verifier
from specchat_engine.testing import Law
from support.loops import Loop

N_VOCAB = 4
WANTED = 3
RUNS = 5000
WHOLE = SamplingParams(temperature=1, top_k=0, top_p=1, min_p=0)
PROMPT = (1, 2)


def tabled(seed: int, spread: float = 1.0) -> Law:
    """A random law over few tokens that depends on the last two, drawn once."""
    table = (np.random.default_rng(seed).standard_normal((N_VOCAB, N_VOCAB, N_VOCAB)) * spread).astype(np.float32)

    def law(tokens: tuple[int, ...]) -> NDArray[np.float32]:
        return table[tokens[-2], tokens[-1]]

    return law


LAWS = ((tabled(1), tabled(2)), (tabled(1, 3), tabled(2, 0.5)))
"""Targets and drafters: one that is nearly as sure as its target, and one that is much less so."""


def exact(law: Law) -> dict[tuple[int, ...], float]:
    """The probability of every text of `WANTED` tokens after the prompt."""
    found = {}
    for text in itertools.product(range(N_VOCAB), repeat=WANTED):
        p = 1.0
        for place, token in enumerate(text):
            logits = law((*PROMPT, *text[:place])).astype(np.float64)
            p *= float(np.exp(logits[token]) / np.exp(logits).sum())
        found[text] = p
    return found


def excess(law: Law, drafter: Callable[[], Drafter | None], verifier: Verifier, k: int = 2) -> float:
    """Pearson's chi-square of the texts of `RUNS` runs against the exact law, over its 0.9999 quantile.

    A correct loop stays below 1 for all but one in 10,000 choices of the seeds. A loop whose law p' differs by
    sum (p' - p)^2 / p = 0.02 exceeds it with a probability above 0.9. Texts expected less than five times are counted
    together.
    """
    counts: Counter[Sequence[int]] = Counter()
    for seed in range(RUNS):
        loop = Loop(
            law, PROMPT, wanted=WANTED, params=WHOLE, seed=seed, drafter=drafter(), ks=lambda _: k, verifier=verifier
        )
        counts[tuple(loop.run())] += 1
    expected = {text: RUNS * p for text, p in exact(law).items()}
    often = [text for text, count in expected.items() if count >= 5]
    cells = [(counts[text], expected[text]) for text in often]
    cells.append((RUNS - sum(count for count, _ in cells), RUNS - sum(count for _, count in cells)))
    statistic = sum((count - wanted) ** 2 / wanted for count, wanted in cells)
    return statistic / quantile(len(cells) - 1)


def quantile(degrees: int) -> float:
    """The 0.9999 quantile of the chi-square distribution, after Wilson and Hilferty (1931)."""
    spread = 2 / (9 * degrees)
    return degrees * float(1 - spread + 3.719 * np.sqrt(spread)) ** 3
