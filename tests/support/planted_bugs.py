"""Twelve ways to get speculative decoding wrong, each put into our own code for a moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from specchat_engine import ModelDrafter
from specchat_engine.decoding import verification
from specchat_engine.decoding.drafts import Context, Draft
from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.decoding.verification import Chance, Decide, Rows, Verdict
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.verifiers import VERIFIERS

Plant = Callable[[pytest.MonkeyPatch, type[Any]], None]
"""Plants a bug; the type is that of the target's memory."""


def _deciding(patch: pytest.MonkeyPatch, name: str, decide: Decide) -> None:
    """Puts another rule in the place of a verifier's."""
    wrong = replace(VERIFIERS[name], decide=decide)
    patch.setattr("specchat_engine.policy.planner.VERIFIERS", MappingProxyType({**VERIFIERS, name: wrong}))


def _answers(memory: Any) -> bool:
    """Whether it is a target that gives an answer, and not one that is tried out while it loads."""
    return memory.user is not None


def accepts_whatever_is_likely(patch: pytest.MonkeyPatch, _: type[Any]) -> None:
    """A drafted token with p > 0.9 is accepted, whatever the target draws."""

    def decide(drafted: Sequence[int], rows: Rows, _proposals: Sequence[Candidates], chance: Chance) -> Verdict:
        judged: list[Candidates] = []
        for place, proposed in enumerate(drafted):
            row = rows(place)
            judged.append(row)
            token = chance.draw(place, row)
            if token != proposed and row.probability(proposed) <= 0.9:
                return Verdict(place, token, TokenKind.CORRECTION, tuple(judged), row)
        row = rows(len(drafted))
        kind = TokenKind.BONUS if drafted else TokenKind.PLAIN
        return Verdict(len(drafted), chance.draw(len(drafted), row), kind, tuple(judged), row)

    _deciding(patch, "coupled", decide)


def target_uses_the_noise_of_the_next_position(patch: pytest.MonkeyPatch, _: type[Any]) -> None:
    """The target draws with noise that is shifted by one position, plain decoding included."""

    class Shifted(verification.SharedChance):
        def draw(self, index: int, row: Candidates) -> int:
            return super().draw(index + 1, row)

    patch.setattr("specchat_engine.decoding.generate.SharedChance", Shifted)


def drafter_uses_the_noise_of_the_next_position(patch: pytest.MonkeyPatch, _: type[Any]) -> None:
    """The draft model draws with noise that is shifted by one position. Lossless, and a waste: fewer are accepted."""

    class Shifted:
        def __init__(self, own: Sampler) -> None:
            self.own = own

        def draw(self, candidates: Candidates, position: int) -> int:
            return self.own.draw(candidates, position + 1)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.own, name)

    propose = ModelDrafter.propose

    def shifted(self: ModelDrafter, context: Context, k: int) -> Draft:
        context.proposer = Shifted(context.proposer)  # type: ignore[assignment]
        return propose(self, context, k)

    patch.setattr(ModelDrafter, "propose", shifted)


def rewinds_one_token_too_many(patch: pytest.MonkeyPatch, memory: type[Any]) -> None:
    """After a rejection the target's memory also loses a token that stands."""
    rewind = memory.rewind

    def too_far(self: Any, length: int) -> None:
        rewind(self, length - 1 if _answers(self) and 0 < length < self.length else length)

    patch.setattr(memory, "rewind", too_far)


def rewinds_one_token_too_few(patch: pytest.MonkeyPatch, memory: type[Any]) -> None:
    """After a rejection the target's memory keeps the rejected token."""
    rewind = memory.rewind

    def too_short(self: Any, length: int) -> None:
        rewind(self, length + 1 if _answers(self) and length < self.length else length)

    patch.setattr(memory, "rewind", too_short)


def takes_the_bonus_from_the_row_before(patch: pytest.MonkeyPatch, _: type[Any]) -> None:
    """The token after a draft that was accepted as a whole comes from the row of its last token."""
    decide = VERIFIERS["coupled"].decide

    def shifted(drafted: Sequence[int], rows: Rows, proposals: Sequence[Candidates], chance: Chance) -> Verdict:
        last = max(0, len(drafted) - 1)
        return decide(drafted, lambda place: rows(min(place, last)), proposals, chance)

    _deciding(patch, "coupled", shifted)


def cuts_by_top_p_after_the_temperature(patch: pytest.MonkeyPatch, _: type[Any]) -> None:
    """The temperature comes before truncation and not after it."""
    candidates = Sampler.candidates

    def reordered(
        self: Sampler, logits: NDArray[np.float32], context: Sequence[int], drafted: Sequence[int] = ()
    ) -> Candidates:
        temperature = self.params.temperature
        if temperature == 0:
            return candidates(self, logits, context, drafted)
        warm = Sampler(replace(self.params, temperature=1.0), self.seed, self.constraint)
        return candidates(warm, (logits / temperature).astype(np.float32), context, drafted)

    patch.setattr(Sampler, "candidates", reordered)


def accepts_five_per_cent_too_often(patch: pytest.MonkeyPatch, _: type[Any]) -> None:
    """Rejection sampling accepts with 1.05 p / q."""
    decide = VERIFIERS["rejection"].decide

    class Generous:
        def __init__(self, own: Chance) -> None:
            self.own = own

        def accepts(self, index: int, probability: float) -> bool:
            return self.own.accepts(index, min(1.0, 1.05 * probability))

        def draw(self, index: int, row: Candidates) -> int:
            return self.own.draw(index, row)

    _deciding(
        patch,
        "rejection",
        lambda drafted, rows, proposals, chance: decide(drafted, rows, proposals, Generous(chance)),
    )


def penalises_without_the_draft(patch: pytest.MonkeyPatch, _: type[Any]) -> None:
    """Penalties look back over the answer, and not over the drafted tokens before a row."""
    candidates = Sampler.candidates
    patch.setattr(
        Sampler, "candidates", lambda self, logits, context, _drafted=(): candidates(self, logits, context, ())
    )


def judges_by_a_stale_row(patch: pytest.MonkeyPatch, memory: type[Any]) -> None:
    """The first row of a pass over several tokens is the last one of the pass before."""
    advance = memory.advance
    before: dict[int, NDArray[np.float32]] = {}

    def stale(self: Any, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        logits: NDArray[np.float32] = advance(self, tokens, rows)
        if rows:
            last = logits[-1].copy()
            if rows > 1 and id(self) in before:
                logits = logits.copy()
                logits[0] = before[id(self)]
            before[id(self)] = last
        return logits

    patch.setattr(memory, "advance", stale)


def takes_the_first_branch(patch: pytest.MonkeyPatch, memory: type[Any]) -> None:
    """Of a tree the memory keeps a path through the first branch, as long as the right one."""
    take = memory.take

    def wrong(self: Any, path: Sequence[int]) -> None:
        take(self, range(len(path)))

    patch.setattr(memory, "take", wrong)


def judges_a_branch_by_its_siblings_row(patch: pytest.MonkeyPatch, _: type[Any]) -> None:
    """What follows a runner-up is drawn from the row after the token that it replaces."""
    coupled = VERIFIERS["coupled"]

    def walk(drafted: Sequence[int], parents: Sequence[int], rows: Rows, chance: Chance) -> Verdict:
        assert coupled.walk
        first = {parent: node for node, parent in reversed([*enumerate(parents)])}
        return coupled.walk(drafted, parents, lambda place: rows(first[parents[place - 1]] + 1 if place else 0), chance)

    wrong = replace(coupled, walk=walk)
    patch.setattr("specchat_engine.policy.planner.VERIFIERS", MappingProxyType({**VERIFIERS, "coupled": wrong}))


PLANTED: Mapping[str, Plant] = {
    plant.__name__.replace("_", " "): plant
    for plant in (
        accepts_whatever_is_likely,
        target_uses_the_noise_of_the_next_position,
        drafter_uses_the_noise_of_the_next_position,
        rewinds_one_token_too_many,
        rewinds_one_token_too_few,
        takes_the_bonus_from_the_row_before,
        cuts_by_top_p_after_the_temperature,
        accepts_five_per_cent_too_often,
        penalises_without_the_draft,
        judges_by_a_stale_row,
        takes_the_first_branch,
        judges_a_branch_by_its_siblings_row,
    )
}
