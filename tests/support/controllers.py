"""Controllers that know what passes cost before any was made, and take no time from the clock."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from specchat_engine.policy.controller import Controller
from specchat_engine.policy.situation import Decision, Outcome, Situation

Known = TypeVar("Known", bound=Controller)


class Watched(Controller):
    """Remembers the outcomes that it learned from, and takes the times of a round from a formula."""

    def __init__(self, verify: float, draft: float) -> None:
        super().__init__()
        self.verify, self.step = verify, draft
        self.learned: list[tuple[str, Outcome]] = []
        self.kinds: list[str] = []

    def begin(self, kind: str) -> None:
        self.kinds.append(kind)
        super().begin(kind)

    def learn(self, now: Situation, decision: Decision, outcome: Outcome) -> None:
        self.learned.append((decision.drafter.name if decision.drafter else "none", outcome))
        verify_ms, draft_ms = 1 + self.verify * outcome.drafted, self.step * outcome.drafted
        super().learn(now, decision, replace(outcome, verify_ms=verify_ms, draft_ms=draft_ms, other_ms=0.0))


def knowing(verify: float, draft: float) -> Watched:
    """A controller to which a further token in a pass costs `verify`, and a draft step `draft`, of a pass over one."""
    return taught(Watched(verify, draft), verify, draft)


def taught(controller: Known, verify: float, draft: float) -> Known:
    """The same for a controller that goes on to learn from the clock."""
    for width in (1, 2, 8, 32):
        for _ in range(15):
            controller.target.observe(width, 100, 1 + verify * (width - 1))
            controller.costs_of("model").by_threads.now.observe(width, 100, draft * width)
    return controller
