"""The decoding loop on scripted models, with drafters for tests."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from specchat_engine import Drafter, SamplingParams
from specchat_engine.decoding.drafts import Branches, Context, Draft
from specchat_engine.decoding.generate import Plan, Step, generate
from specchat_engine.decoding.verification import ProposalLaw, Verdict, Verifier
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.testing import Law, ScriptedModel
from specchat_engine.verifiers import COUPLED


class RandomDrafter(Drafter):
    """Proposes a random number of random tokens, whatever the context."""

    name = "random"
    law: ProposalLaw = "point"

    def __init__(self, n_vocab: int, seed: int) -> None:
        self._n_vocab = n_vocab
        self._random = random.Random(seed)

    def propose(self, context: Context, k: int) -> Draft:
        """Zero to k tokens."""
        length = self._random.randint(0, k)
        return Draft(tuple(self._random.randrange(self._n_vocab) for _ in range(length)), source=self.name)


@dataclass
class FixedDrafter(RandomDrafter):
    """Proposes the given drafts, one per round, then nothing. An exception in the list is raised."""

    drafts: list[tuple[int, ...] | Exception]
    name: str = "fixed"
    law: ProposalLaw = "point"
    seen: list[tuple[Draft, Verdict]] = field(default_factory=list)

    def propose(self, context: Context, k: int) -> Draft:
        """The next draft of the list, cut to k."""
        draft = self.drafts.pop(0) if self.drafts else ()
        if isinstance(draft, Exception):
            raise draft
        return Draft(draft[:k], source=self.name)

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Records the outcome of each draft."""
        self.seen.append((draft, verdict))


@dataclass
class Loop:
    """One run of `generate` that can be inspected between rounds."""

    law: Law
    prompt: Sequence[int]
    wanted: int = 40
    params: SamplingParams = field(default_factory=SamplingParams)
    seed: int = 1
    drafter: Drafter | None = None
    ks: Callable[[int], int] = lambda _: 4
    ends: frozenset[int] = frozenset()
    verifier: Verifier = COUPLED
    sharpness: float = 1.0
    branches: Branches | None = None

    def __post_init__(self) -> None:
        self.target = ScriptedModel(self.law)
        self.context = Context(list(self.prompt), len(self.prompt), Sampler(self.params, self.seed), self.ends)
        self.rounds = 0
        self.target.read(self.context.tokens[:-1], lambda: False)
        self.target.passes.clear()
        if self.drafter:
            self.drafter.begin(self.context.tokens, lambda: False)

    @property
    def answer(self) -> list[int]:
        """The tokens so far."""
        return self.context.tokens[self.context.prompt_length :]

    def steps(self) -> Iterator[Step]:
        """The rounds of the run."""
        watch = self.drafter.watch if self.drafter else None
        return generate(self.target, self.context, self._plan, self._limit, watch)

    def run(self) -> list[int]:
        """The whole answer."""
        for _ in self.steps():
            self.check()
        return self.answer

    def check(self) -> None:
        """Checks that the target's cache holds the context except its last token."""
        assert self.target.tokens == self.context.tokens[:-1]

    def _plan(self, context: Context) -> Plan:
        k = min(self.ks(self.rounds), self.wanted - context.position - 1)
        self.rounds += 1
        return Plan(
            self.drafter, k, context.sampler, "test", self.verifier, sharpness=self.sharpness, branches=self.branches
        )

    def _limit(self, tokens: Sequence[int]) -> tuple[int, str | None]:
        for count, token in enumerate(tokens, 1):
            if token in self.ends:
                return count, "end"
            if self.context.position + count == self.wanted:
                return count, "length"
        return len(tokens), None
