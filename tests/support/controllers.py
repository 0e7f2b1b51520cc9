"""Controllers that know the cost of passes from the start and do not read the clock, and a fake clock."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from specchat_engine.policy.controller import Controller
from specchat_engine.policy.policy import Decision, RoundOutcome, Situation

Known = TypeVar("Known", bound=Controller)
_READ_SHARE = 0.15
"""Reading a token in a batch takes this share of a draft step."""


class Watched(Controller):
    """Records the outcomes that it learns from, and computes the times of a round from a formula."""

    def __init__(self, verify: float, draft: float) -> None:
        super().__init__()
        self.verify, self.step = verify, draft
        self.learned: list[tuple[str, RoundOutcome]] = []
        self.kinds: list[str] = []

    def begin(self, kind: str) -> None:
        self.kinds.append(kind)
        super().begin(kind)

    def learn(self, now: Situation, decision: Decision, outcome: RoundOutcome) -> None:
        self.learned.append((decision.drafter.name if decision.drafter else "none", outcome))
        steps = outcome.drafted if decision.drafter and decision.drafter.cost == "step" else 0
        verify_ms, draft_ms = 1 + self.verify * outcome.drafted, self.step * steps
        super().learn(now, decision, replace(outcome, verify_ms=verify_ms, draft_ms=draft_ms, other_ms=0.0))

    def learn_reading(self, drafter: str, tokens: int, milliseconds: float) -> None:
        super().learn_reading(drafter, tokens, self.step * _READ_SHARE * tokens)


def knowing(verify: float, draft: float) -> Watched:
    """A controller for which each further token in a pass costs `verify`, and each draft step `draft`.

    Both are relative to a pass over one token.
    """
    return taught(Watched(verify, draft), verify, draft)


def taught(controller: Known, verify: float, draft: float) -> Known:
    """Teaches these costs to a controller that keeps learning from the clock, and returns it."""
    for width in (1, 2, 8, 32):
        for _ in range(15):
            controller.target.observe(width, 100, 1 + verify * (width - 1))
            controller.costs_of("model").by_threads.current.observe(width, 100, draft * width)
    return controller


class Clock:
    """Advances by one microsecond at each reading, and by the milliseconds given to `pass_by`."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 1000
        return self.now

    def pass_by(self, milliseconds: float) -> None:
        self.now += round(milliseconds * 1e6)
