"""What each mechanism and constant of the policy is worth: a replay of recorded answers with it and without it.

`PYTHONPATH=tests python -m benchmarks.mechanisms [RECORDING…]`. It measures no times, and takes some minutes. Each row
shows how much slower the answers are without the mechanism: first answers, each with a controller that knows nothing,
and a session of all answers in three orders.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from specchat_engine.policy import acceptance, controller, policy
from specchat_engine.policy.acceptance import Posterior
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.early_stop import Option, best_length, fastest
from specchat_engine.policy.policy import Confidences, RoundOutcome
from support.replay import MACHINES, REAL_MACHINES, REAL_RECORDING, RECORDING, Answer, Machine, measured, recorded

_ORDERS = 3


def _without_matches_seen(learn: Callable[..., None]) -> Callable[..., None]:
    def learned(self: Controller, situation: Any, decision: Any, outcome: RoundOutcome) -> None:
        seen = outcome.matched if decision.drafter and decision.drafter.evidence == "match" else {}
        learn(self, situation, decision, replace(outcome, matched=seen))

    return learned


def _average(self: Confidences, costs: Sequence[float], pace: float) -> Option:
    mean = sum(p * often for p, often in zip(self.p_accept, self.frequency, strict=True))
    most = len(costs) - 1
    return fastest(lambda at: best_length([mean] * most, costs, range(1, most + 1), at), pace)


def _of_one_kind(begin: Callable[[Controller, str], None]) -> Callable[[Controller, str], None]:
    return lambda self, _: begin(self, "")


def _one_class(self: Posterior) -> list[float]:
    share = (self.accepted + 2 * 0.8) / (self.tested + 2)
    return [share] * len(self.to_json()["tested"])


VARIANTS: Mapping[str, Sequence[tuple[Any, str, Any]]] = {
    "classes of evidence": [(Posterior, "p_accept", _one_class)],
    "early stop": [(Confidences, "best", _average)],
    "kinds of text": [(Controller, "begin", _of_one_kind(Controller.begin))],
    "matches that nobody drafted from": [(Controller, "learn", _without_matches_seen(Controller.learn))],
    "the answer's own tokens (24)": [(acceptance, "_ANSWER", 1e9)],
    "the answer's own tokens (24): 12": [(acceptance, "_ANSWER", 12.0)],
    "weight of a prior (2): 6": [(acceptance, "_PRIOR", 6.0)],
    "fading of counts (0.98): 0.995": [(acceptance, "_FADE", 0.995)],
    "forgetting what is not tried (0.998)": [(acceptance, "_FORGET", 1.0)],
    "a loss cap": [(controller, "_CAP", 1e9), (controller, "_CAP_LEAST", 1e9), (controller, "_CAP_MOST", 1e9)],
    "the cap at first (0.7): 2": [(controller, "_CAP", 2.0)],
    "what a plain round adds to it (0.015): 0": [(controller, "_CAP_PER_ROUND", 0.0)],
    "the most that it holds (24): 3": [(controller, "_CAP_MOST", 3.0)],
    "three nodes (±1.2 deviations): the mean alone": [(controller, "_NODE", 0.0)],
    "short first drafts (3)": [(controller, "_FIRST_DRAFT", 99)],
    "1.02 × before drafting": [(policy, "_WORTH_IT", 1.0)],
    "the most that a draft that explores may lose (2): 99": [(policy, "_EXPLORES", 99.0)],
    "reading spread over drafts (16): in full": [(controller, "_DRAFTS", 1.0), (controller, "_DRAFTS_WEIGHT", 0.0)],
    "learning over how many drafts (0.3): 0": [(controller, "_DRAFTS_WEIGHT", 0.0)],
    "holding a plain decision (6): 0": [(controller, "_HOLD", 0)],
}


def speeds(answers: Sequence[Answer], machine: Machine) -> tuple[float, float]:
    """Returns the speed in times that of plain decoding: of first answers, and over sessions of all of them."""
    first = [answer.plain(machine) / answer.adaptive(measured(machine), machine) for answer in answers]
    session = []
    for order in range(_ORDERS):
        mixed = [*answers]
        random.Random(order).shuffle(mixed)
        known = measured(machine)
        session += [answer.plain(machine) / answer.adaptive(known, machine) for answer in mixed]
    return geometric_mean(first), geometric_mean(session)


@contextmanager
def without(patches: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    """The policy without a mechanism."""
    with ExitStack() as stack:
        for place, name, value in patches:
            stack.enter_context(patch.object(place, name, value))
        yield


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recordings", type=Path, nargs="*", default=[REAL_RECORDING, RECORDING])
    parser.add_argument("--only", default="", help="mechanisms whose names have this")
    asked = parser.parse_args()
    recordings: Sequence[Path] = asked.recordings
    console = Console()
    columns = [
        (path, name, machine)
        for path in recordings
        for name, machine in (REAL_MACHINES if path == REAL_RECORDING else MACHINES).items()
    ]
    usual = [speeds(recorded(path), machine) for path, _, machine in columns]
    for (path, name, _), (first, session) in zip(columns, usual, strict=True):
        console.print(f"{path.name}, {name}: first answers {first:.3f} × plain, sessions {session:.3f} × plain")
    table = Table("without", "first answers", "sessions", "worst")
    for mechanism, patches in VARIANTS.items():
        if asked.only not in mechanism:
            continue
        with without(patches):
            found = [speeds(recorded(path), machine) for path, _, machine in columns]
        first, session = (
            [now[part] / before[part] for now, before in zip(found, usual, strict=True)] for part in (0, 1)
        )
        worst = min(range(len(columns)), key=lambda one: min(first[one], session[one]))
        table.add_row(
            mechanism,
            f"{geometric_mean(first) - 1:+.1%}",
            f"{geometric_mean(session) - 1:+.1%}",
            f"{min(first[worst], session[worst]) - 1:+.1%} {columns[worst][1]}",
        )
    console.print(table)


if __name__ == "__main__":
    main()
