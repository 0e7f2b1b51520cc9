"""Replays recorded answers with fixed costs of passes: the time that each way of drafting would take.

With the coupled rule the text does not depend on the drafter. So one recording of what the draft model proposes after
every token of an answer determines the outcome of any draft, whatever the policy. tests/benchmarks/record_drafts.py
makes the recording. Prompt lookup needs none: it reads the same tokens.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from specchat_engine import PromptLookupDrafter, SamplingParams
from specchat_engine.decoding.drafts import Alternative, Context, Draft, Prospect
from specchat_engine.drafters import ModelDrafter
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.situation import Outcome, Situation
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.settings import USUAL_K

RECORDING = Path(__file__).parents[1] / "engine" / "policy" / "recorded.json.gz"
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

    def adaptive(self, controller: Controller, machine: Machine, most: int = 0) -> float:
        """The time with the controller's drafts. It learns during the answer, and the draft model reads the prompt.

        A draft may have `most` runners-up beside its chain.
        """
        spent, place, unread = 0.0, 0, self.prompt
        controller.begin(self.kind)
        while place < self.length:
            match, foretold = self.matches[place]
            prospects = {MODEL: Prospect(unread=unread), LOOKUP: Prospect(match=match)}
            now = Situation(self.prompt + place, self.length - place - 1, prospects, tree=most)
            decision = controller.decide(now)
            worth_more = decision.stop.begin() if decision.stop else None
            confidence: list[float] = []
            drafted = right = branches = 0
            draft_ms, replaced = 0.0, False
            if decision.drafter is MODEL:
                for sure in self.confidence[place][: decision.k]:
                    drafted += 1
                    confidence.append(sure)
                    if worth_more and not worth_more(sure):
                        break
                right = self.right[place]
                if decision.branches:
                    names = tuple(range(drafted))
                    others = tuple(Alternative((*names[:one], -1), confidence[one]) for one in names)
                    tree = decision.branches(Draft(names, confidence=tuple(confidence), alternatives=others))
                    branches = len(tree) - drafted
                    replaced = right - 1 in tree.parents[drafted:] and self.second[place]
                draft_ms = machine.draft * (drafted + machine.read * (unread - 1))
            elif decision.drafter is LOOKUP:
                drafted, right = decision.k, foretold
            accepted = min(right, drafted)
            emitted = min(accepted + 1 + replaced, self.length - place)
            verify_ms = machine.verify(drafted + branches + 1)
            compared = min(accepted + 1, drafted)
            outcome = Outcome(
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
                matched={LOOKUP: [i < foretold for i in range(min(emitted, foretold + 1))]} if match else {},
            )
            controller.learn(now, decision, outcome)
            spent += verify_ms + draft_ms
            unread = 1 if decision.drafter is MODEL else unread + emitted
            place += emitted
        return spent


def measured(machine: Machine) -> Controller:
    """A controller that has been calibrated on this machine."""
    controller = Controller()
    for width in (1, 1, 1, 1, 2, 4, 8, 16):
        controller.target.observe(width, 0, machine.verify(width))
    for length in (1, USUAL_K):
        controller.costs_of(MODEL.name).by_threads.current.observe(length, 0, length * machine.draft)
    return controller


@cache
def recorded() -> tuple[Answer, ...]:
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
        for line in json.loads(gzip.decompress(RECORDING.read_bytes()))
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
