"""Bugs that others have shipped, each put into our own code for a moment: the check that guards it has to fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from specchat_engine import DecodeError, ModelDrafter, SamplingParams
from specchat_engine.decoding import verification as chance
from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.decoding.verification import Chance, Rows, Verdict, Verifier
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.testing import Law, ScriptedModel, random_law
from specchat_engine.verifiers import BLOCK, REJECTION
from specchat_engine.verifiers import block as block_module
from specchat_engine.verifiers import rejection as rejection_module
from support.exact import Branch, Proposer, Text, error_of_law, random_rows
from support.frequencies import LAWS, excess
from support.loops import Loop, RandomDrafter

Patch = pytest.MonkeyPatch
LOSSLESS = (REJECTION, BLOCK)


def check_exact(
    verifiers: Sequence[Verifier] = LOSSLESS, change: Callable[[Proposer], Proposer] = lambda own: own
) -> None:
    """Enumerates rounds of two drafted tokens over three, for several targets and drafters."""
    for verifier in verifiers:
        errors = []
        for seed in range(12):
            proposer = change(Proposer(random_rows(2 * seed + 1, 3), 2))
            errors.append(error_of_law(verifier.decide, random_rows(2 * seed, 3), proposer, 3))
        assert max(errors) < 1e-12, verifier.name


def check_frequencies(verifiers: Sequence[Verifier] = LOSSLESS, laws: Sequence[tuple[Law, Law]] = LAWS) -> None:
    """Counts what the real loop says."""
    for verifier in verifiers:
        for target, other in laws:
            assert excess(target, partial(drawing, other), verifier) < 1, verifier.name


def drawing(law: Law) -> ModelDrafter:
    """A drafter of that law."""
    return ModelDrafter(ScriptedModel(law))


def check_loop(model: type[ScriptedModel] = ScriptedModel) -> None:
    """Compares speculative with plain answers under penalties, and the target's memory with the context."""
    sampling = SamplingParams(repeat_penalty=1.4, presence_penalty=0.6)
    law = random_law(24, seed=3)
    for seed in range(12):
        plain = Loop(law, [3, 1, 4], params=sampling, seed=seed)
        drafted = Loop(law, [3, 1, 4], params=sampling, seed=seed, drafter=ModelDrafter(ScriptedModel(law)))
        other = Loop(law, [3, 1, 4], params=sampling, seed=seed, drafter=RandomDrafter(24, seed))
        for loop in (drafted, other):
            loop.target = model(law)
            loop.target.read(loop.prompt[:-1], lambda: False)
        assert plain.run() == drafted.run() == other.run()


# Each mutant gives the check that has to notice it.


def ratio_test_on_an_argmax_draft(_: Patch) -> Callable[[], None]:
    """The drafter takes its best token and hands over its q, as if it had drawn from it."""
    return lambda: check_exact(change=lambda own: replace(own, point=True, reported=own.q))


def q_from_raw_logits(patch: Patch) -> Callable[[], None]:
    """The drafter draws after truncation and temperature and hands over q before them."""

    def sharpened(raw: Candidates) -> Candidates:
        kept = raw.log_p >= np.sort(raw.log_p)[-2:][0]
        log_p = raw.log_p[kept] / 0.5
        return Candidates(raw.ids[kept], log_p - np.log(np.exp(log_p).sum()))

    return lambda: check_exact(change=lambda own: replace(own, q=lambda text: sharpened(own.q(text)), reported=own.q))


def residual_not_renormalised(patch: Patch) -> Callable[[], None]:
    """(p - q)+ is sampled by inverting a distribution function that does not reach 1."""

    def residual(row: Candidates, proposal: Candidates, weight: float = 1.0) -> Candidates:
        left = rejection_module.excess(row, proposal, weight)
        kept = left > 0
        return Candidates(row.ids[kept], np.log(left[kept]))

    patch.setattr(rejection_module, "residual", residual)
    patch.setattr(block_module, "residual", residual)
    return check_exact


def residual_is_the_targets_own_row(patch: Patch) -> Callable[[], None]:
    """After a rejection the target draws from p as if nothing had been proposed."""
    patch.setattr(rejection_module, "residual", lambda row, _: row)
    patch.setattr(block_module, "residual", lambda row, _, __: row)
    return check_exact


def residual_drawn_with_the_drafts_noise(patch: Patch) -> Callable[[], None]:
    """The noise that chose the drafted token chooses its replacement as well."""

    class Reused(chance.RoundChance):
        def __init__(self, sampler: Sampler, position: int) -> None:
            super().__init__(sampler, position)
            self._own, self._start = chance.proposer(sampler, position), position

        def draw(self, index: int, row: Candidates) -> int:
            return self._own.draw(row, self._start + index)

    patch.setattr("specchat_engine.decoding.generate.RoundChance", Reused)
    return partial(check_frequencies, laws=LAWS[1:])


def a_test_with_the_drafts_noise(patch: Patch) -> Callable[[], None]:
    """The number that tests a token depends on the noise that chose it."""

    class Reused(chance.RoundChance):
        def __init__(self, sampler: Sampler, position: int) -> None:
            super().__init__(sampler, position)
            self._own, self._start = chance.proposer(sampler, position), position

        def accepts(self, index: int, probability: float) -> bool:
            flat = Candidates(np.arange(4), np.full(4, -np.log(4)))
            return self._own.draw(flat, self._start + index) / 4 < probability

    patch.setattr("specchat_engine.decoding.generate.RoundChance", Reused)
    return check_frequencies


def noise_of_a_position_used_by_two_rounds(patch: Patch) -> Callable[[], None]:
    """What follows an accepted part of a block is drafted again with the noise that decided how much was accepted."""
    patch.setattr("specchat_engine.decoding.generate.proposer", lambda sampler, _: sampler.reseeded(sampler.seed + 1))
    return lambda: check_frequencies([BLOCK])


def bonus_from_the_wrong_row(patch: Patch) -> Callable[[], None]:
    """The token behind a fully accepted draft comes from the row before it."""

    def shifted(verifier: Verifier) -> Verifier:
        def decide(drafted: Sequence[int], rows: Rows, proposals: Sequence[Candidates], luck: Chance) -> Verdict:
            return verifier.decide(drafted, lambda place: rows(min(place, len(drafted) - 1)), proposals, luck)

        return replace(verifier, decide=decide)

    return lambda: check_exact([shifted(REJECTION), shifted(BLOCK)])


def accepting_past_a_rejection(patch: Patch) -> Callable[[], None]:
    """Every drafted token is tested by itself, and the last that passes counts."""

    def decide(drafted: Sequence[int], rows: Rows, proposals: Sequence[Candidates], luck: Chance) -> Verdict:
        accepted = 0
        for place, token in enumerate(drafted):
            ratio = rows(place).probability(token) / proposals[place].probability(token)
            if luck.accepts(place, min(1.0, ratio)):
                accepted = place + 1
        row = rows(accepted)
        left = row if accepted == len(drafted) else rejection_module.residual(row, proposals[accepted])
        return Verdict(accepted, luck.draw(accepted, left), TokenKind.CORRECTION, (), row)

    return lambda: check_exact([replace(REJECTION, decide=decide)])


def stopping_on_the_drafted_value(patch: Patch) -> Callable[[], None]:
    """A token that the drafter finds unlikely after having drawn it is not proposed."""

    @dataclass(frozen=True)
    class Choosy(Proposer):
        def draft(self, context: Text, luck: Branch) -> tuple[Text, list[Candidates]]:
            tokens, rows = super().draft(context, luck)
            sure = [row.probability(token) >= 0.4 for row, token in zip(rows, tokens, strict=True)]
            length = sure.index(False) if False in sure else len(sure)
            return tokens[:length], rows[:length]

    return lambda: check_exact(change=lambda own: Choosy(own.q, own.k))


def a_penalty_that_misses_the_drafted_prefix(patch: Patch) -> Callable[[], None]:
    """The rows behind drafted tokens are penalised for the context alone."""
    whole = Sampler.candidates
    patch.setattr(Sampler, "candidates", lambda *given: whole(*given[:3]))
    return check_loop


def a_rewind_one_short(patch: Patch) -> Callable[[], None]:
    """One token too many stays in the target's memory."""

    class Short(ScriptedModel):
        def rewind(self, length: int) -> None:
            super().rewind(length + 1)

    return lambda: check_loop(Short)


def a_rewind_one_long(patch: Patch) -> Callable[[], None]:
    """One token too many is forgotten."""

    class Long(ScriptedModel):
        def rewind(self, length: int) -> None:
            super().rewind(length - 1 if length < len(self.tokens) else length)

    return lambda: check_loop(Long)


MUTANTS = (
    ratio_test_on_an_argmax_draft,
    q_from_raw_logits,
    residual_not_renormalised,
    residual_is_the_targets_own_row,
    residual_drawn_with_the_drafts_noise,
    a_test_with_the_drafts_noise,
    noise_of_a_position_used_by_two_rounds,
    bonus_from_the_wrong_row,
    accepting_past_a_rejection,
    stopping_on_the_drafted_value,
    a_penalty_that_misses_the_drafted_prefix,
    a_rewind_one_short,
    a_rewind_one_long,
)


@pytest.mark.parametrize("check", [check_exact, check_loop], ids=lambda check: check.__name__)
def test_the_sound_code_passes(check: Callable[[], None]) -> None:
    """Whether it passes `check_frequencies` is tested in `test_frequencies`, with the same laws."""
    check()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_mutant_is_noticed(mutant: Callable[[Patch], Callable[[], None]], monkeypatch: Patch) -> None:
    check = mutant(monkeypatch)
    with pytest.raises((AssertionError, DecodeError)):
        check()
