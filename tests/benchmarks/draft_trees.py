"""Computes what branches are worth to drafts of a draft model, by a replay of recorded answers with fixed costs.

Passes get dearer by a share of the first token with each further one, those of the draft model too. Prints the gain of
chains over plain decoding, and over chains that of trees with up to 15 tokens beside the chain: single runners-up, and
branches that the draft model reads beside its chain.

`PYTHONPATH=tests python -m benchmarks.draft_trees [--draft 0.15]`; a step of the draft model takes this share of a
plain pass of the target.
"""

from __future__ import annotations

import argparse

from rich.console import Console

from support.replay import Machine, measured, recorded

SLOPES = (0.0, 0.01, 0.03, 0.05, 0.1, 0.2)
BRANCHES = 15
SHAPES = {"chains": (0, False), "single runners-up": (BRANCHES, False), "branches": (BRANCHES, True)}


def main() -> None:
    """Prints a line for each machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draft", type=float, default=0.15)
    step = parser.parse_args().draft
    for slope in SLOPES:
        machine, spent = Machine(lambda width, slope=slope: 1 + slope * (width - 1), step), {}
        for shape, (most, deep) in SHAPES.items():
            controller = measured(machine)
            for _ in range(2):
                times = [answer.adaptive(controller, machine, most, deep=deep) for answer in recorded()]
            spent[shape] = sum(time / answer.plain(machine) for time, answer in zip(times, recorded(), strict=True))
        chains = spent["chains"]
        gains = ", ".join(f"{shape} {chains / time - 1:+.1%}" for shape, time in spent.items() if shape != "chains")
        Console().print(f"a further token at {slope:.2f}: chains {len(recorded()) / chains:.2f} ×, {gains} beyond")


if __name__ == "__main__":
    main()
