"""Replays recorded answers with fixed costs of passes: the time that each way of drafting would take.

With the coupled rule the text does not depend on the drafter. So one recording of what the draft model proposes after
every token of an answer determines the outcome of any draft, whatever the policy. tests/benchmarks/record_drafts.py
makes the recording. Prompt lookup needs none: it reads the same tokens.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from specchat_engine import PromptLookupDrafter, SamplingParams
from specchat_engine.decoding.drafts import Alternative, Context, Draft, Prospect
from specchat_engine.drafters import ModelDrafter
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.policy import RoundOutcome, Situation
from specchat_engine.policy.trees import Branching
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.settings import USUAL_K

RECORDING = Path(__file__).parents[1] / "engine" / "policy" / "recorded.json.gz"
"""Answers of the built-in pair."""

REAL_RECORDING = RECORDING.with_name("recorded_coder.json.gz")
"""Answers of Qwen2.5-Coder 1.5B Instruct with the 0.5B as its draft, both Q4_K_M."""

LONGEST = 32
MODEL, LOOKUP = ModelDrafter.traits, PromptLookupDrafter.traits


@dataclass(frozen=True)
class Machine:
    """Costs relative to a pass over one token: of the target's passes by width, and of one draft step."""

    verify: Callable[[int], float]
    draft: float

    @property
    def read(self) -> float:
        """The cost of a token that a model reads in a batch, relative to a pass over one token."""
        return self.verify(16) / 16


def measured_curve(costs: Mapping[int, float]) -> Callable[[int], float]:
    """Returns C(w) / C(1) on straight lines between measured widths; the last line goes on."""
    (before, low), (last, high) = sorted(costs.items())[-2:]

    def verify(width: int) -> float:
        if width > last:
            return high + (width - last) * (high - low) / (last - before)
        return float(np.interp(width, sorted(costs), [costs[size] for size in sorted(costs)]))

    return verify


_STEPS = {2: 1.43, 3: 1.73, 4: 2.05, 5: 2.33, 6: 2.62, 7: 2.86, 8: 2.88, 12: 2.94, 16: 3.02, 32: 6.0}
_TILES = {2: 1.50, 3: 1.60, 4: 1.64, 5: 1.73, 6: 1.83, 7: 2.05, 8: 2.03, 12: 2.32, 16: 2.65, 32: 4.6}
REAL_MACHINES = {
    "the real pair on AVX-512": Machine(measured_curve({1: 1.0} | _STEPS), 0.47),
    "the real pair on AMX": Machine(measured_curve({1: 1.0} | _TILES), 0.47),
}
"""Costs of Qwen2.5-Coder 1.5B and 0.5B, Q4_K_M, measured on two cores of a Xeon (Sapphire Rapids)."""

MACHINES = {
    "a second token that costs more than the next ten": Machine(
        lambda width: (1, 2.35, 2.6, 2.8, 3)[width - 1] if width < 6 else 3 + 0.27 * (width - 5), 0.2
    ),
    "half precision on two cores": Machine(lambda width: 1 + 0.375 * (width - 1), 0.12),
    "half precision, bound by memory": Machine(lambda width: 1 + 0.13 * (width - 1), 0.06),
    "four bits on two cores": Machine(lambda width: 1 + 0.7 * (width - 1), 0.06),
    "four bits, sixteen tokens at a time": Machine(lambda width: 0.3 + 0.7 * (width % 16) + 8.5 * (width // 16), 0.07),
    "a step behind eight tokens": Machine(lambda width: 1 + 0.01 * width + (1.3 if width > 8 else 0), 0.15),
    "a slow draft model": Machine(lambda width: 1 + 0.2 * (width - 1), 0.4),
    "a GPU": Machine(lambda width: 1 + 0.006 * (width - 1), 0.15),
}
"""Machines by what is special about them."""


@dataclass(frozen=True)
class Answer:
    """An answer's tokens and, after each, how many of the draft model's tokens are right and its confidence.

    `second[t]`: whether the runner-up of the first wrong one of these tokens is right.
    `matches[t]`: the length of prompt lookup's match after t tokens, and how many of the predicted tokens are right.
    """

    kind: str
    prompt: int
    length: int
    right: Sequence[int]
    confidence: Sequence[Sequence[float]]
    matches: Sequence[tuple[int, int]]
    second: Sequence[bool] = ()

    def reading(self, machine: Machine) -> float:
        """The time in which the target reads the prompt."""
        return self.prompt * machine.read

    def plain(self, machine: Machine) -> float:
        """The time without drafts."""
        return self.length * machine.verify(1)

    def fixed(self, source: str, k: int, machine: Machine) -> float:
        """The time with drafts of k tokens from one source."""
        spent, place = machine.draft * machine.read * self.prompt if source == "model" else 0.0, 0
        while place < self.length:
            drafted = min(k, self.length - place - 1)
            if source == "model":
                drafted = min(drafted, len(self.confidence[place]))
                right = self.right[place]
                spent += drafted * machine.draft
            else:
                match, right = self.matches[place]
                drafted = drafted if match else 0
            spent += machine.verify(drafted + 1)
            place += min(right, drafted) + 1
        return spent

    def adaptive(self, controller: Controller, machine: Machine, most: int = 0, *, deep: bool = True) -> float:
        """The time with the controller's drafts. It learns during the answer, and the draft model reads the prompt.

        A draft may have `most` tokens beside its chain: runners-up and, if it is `deep`, what follows some of them.
        """
        spent, place, unread = 0.0, 0, self.prompt
        controller.begin(self.kind)
        while place < self.length:
            match, matching = self.matches[place]
            prospects = {MODEL: Prospect(unread=unread), LOOKUP: Prospect(match=match)}
            now = Situation(self.prompt + place, self.length - place - 1, prospects, tree=most)
            decision = controller.decide(now)
            worth_more = decision.stop.begin() if decision.stop else None
            confidence: list[float] = []
            drafted = right = branches = 0
            draft_ms, replaced = 0.0, 0
            if decision.drafter is MODEL:
                drafted_tree = DraftedTree(self, place, decision.branches if deep else None)
                for sure in self.confidence[place][: decision.k]:
                    draft_ms += machine.draft * machine.verify(drafted_tree.widen())
                    drafted_tree.add(sure)
                    if worth_more and not worth_more(sure):
                        break
                drafted, confidence = len(drafted_tree.confidence), drafted_tree.confidence
                right = self.right[place]
                if decision.branches:
                    tree = decision.branches(drafted_tree.draft)
                    branches, replaced = len(tree) - drafted, drafted_tree.accepted(tree) - min(right, drafted)
                draft_ms += machine.draft * machine.read * (unread - 1)
            elif decision.drafter is LOOKUP:
                drafted, right = decision.k, matching
            accepted = min(right, drafted)
            emitted = min(accepted + 1 + replaced, self.length - place)
            verify_ms = machine.verify(drafted + branches + 1)
            compared = min(accepted + 1, drafted)
            outcome = RoundOutcome(
                drafted=drafted,
                accepted=accepted,
                compared=compared,
                branches=branches,
                runners_up=[(confidence[one], one == right and self.second[place]) for one in range(compared)]
                if most and decision.drafter is MODEL
                else (),
                emitted=emitted,
                verify_ms=verify_ms,
                draft_ms=draft_ms,
                other_ms=0.0,
                confidence=confidence,
                matched={LOOKUP: [i < matching for i in range(min(emitted, matching + 1))]} if match else {},
            )
            controller.learn(now, decision, outcome)
            spent += verify_ms + draft_ms
            unread = 1 if decision.drafter is MODEL else unread + emitted
            place += emitted
        return spent


class DraftedTree:
    """A draft of the recorded draft model at one place of an answer, as it grows."""

    def __init__(self, answer: Answer, place: int, branches: Branching | None) -> None:
        self._answer, self._place, self._branches = answer, place, branches
        self.confidence: list[float] = []
        self._others: list[Alternative] = []
        self._branch: Alternative | None = None
        self._read: set[tuple[int, ...]] = set()

    @property
    def draft(self) -> Draft:
        """What is drafted so far. Tokens of the chain and those after a runner-up count up, and runners-up are -1."""
        confidence = tuple(self.confidence)
        return Draft(tuple(range(len(confidence))), confidence=confidence, alternatives=tuple(self._others))

    def add(self, sure: float) -> None:
        """Adds a token to the chain, and its runner-up."""
        place = len(self.confidence)
        self.confidence.append(sure)
        self._others.append(Alternative((*range(place), -1), sure))

    def widen(self) -> int:
        """Reads what is worth it beside the chain's last token; returns how many tokens are read."""
        waiting = [one for one in self._others if one.runner_up and one.path not in self._read]
        ends = waiting + ([self._branch] if self._branch else [])
        best = self._branches.next_read(self.draft, ends) if self._branches and self.confidence else None
        if best is None:
            return 1
        self._read.add(best.path)
        depth, after = self._after(best.path)
        sure = self._answer.confidence[after] if after < self._answer.length else ()
        self._branch = Alternative((*best.path, depth), sure[depth], runner_up=False) if depth < len(sure) else None
        self._others += [self._branch] if self._branch else []
        return 2

    def accepted(self, tree: Draft) -> int:
        """How many tokens of a tree that was made of this draft are accepted."""
        answer, accepted = self._answer, min(self._answer.right[self._place], len(self.confidence))
        paths = {tuple(tree.tokens[one] for one in tree.path(node)) for node in range(len(tree))}
        if not answer.second[self._place] or (*range(accepted), -1) not in paths:
            return accepted
        after = self._place + accepted + 1
        following = [path for path in paths if path[: accepted + 1] == (*range(accepted), -1)]
        return (
            accepted
            + 1
            + min(max(map(len, following)) - accepted - 1, answer.right[after] if after < answer.length else 0)
        )

    def _after(self, path: tuple[int, ...]) -> tuple[int, int]:
        """How many tokens come after the runner-up on a path, and the place whose draft goes on like that: what would
        be drafted after a wrong one was not recorded, so its confidences are those of another place."""
        first = path.index(-1)
        right = self._answer.second[self._place] and first == self._answer.right[self._place]
        after = self._place + first + 1 if right else (7 * self._place + 13 * first) % self._answer.length
        return len(path) - first - 1, after


def measured(machine: Machine) -> Controller:
    """A controller that has been calibrated on this machine."""
    controller = Controller()
    for width in (1, 1, 1, 1, 2, 4, 8, 16):
        controller.target.observe(width, 0, machine.verify(width))
    for length in (1, USUAL_K) * 3:
        controller.costs_of(MODEL.name).by_threads.current.observe(length, 0, length * machine.draft)
    return controller


@cache
def recorded(recording: Path = RECORDING) -> tuple[Answer, ...]:
    """The recorded answers."""
    return tuple(
        Answer(
            line["kind"],
            len(line["prompt"]),
            len(line["answer"]),
            [right for right, _, _ in line["drafts"]],
            [[sure / 1000 for sure in confidence] for _, confidence, _ in line["drafts"]],
            looked_up(line["prompt"], line["answer"]),
            [bool(second) for _, _, second in line["drafts"]],
        )
        for line in json.loads(gzip.decompress(recording.read_bytes()))
    )


def looked_up(prompt: Sequence[int], answer: Sequence[int]) -> list[tuple[int, int]]:
    """What prompt lookup finds after each token of an answer."""
    drafter = PromptLookupDrafter()
    drafter.begin(prompt, lambda: False)
    found = []
    for place in range(len(answer)):
        context = Context([*prompt, *answer[:place]], len(prompt), Sampler(SamplingParams(), 0))
        match = drafter.find(context)
        run = drafter.continuation(match, LONGEST) if match else ()
        agreed = zip(run, answer[place:], strict=False)
        right = next(
            (index for index, (one, other) in enumerate(agreed) if one != other), min(len(run), len(answer) - place)
        )
        found.append((match.length if match else 0, right))
    return found
