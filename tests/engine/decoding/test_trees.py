"""Trees: the text is the target's whatever branches, and only the accepted path stays in memory."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import DecodeError, ModelDrafter, Outcome, SamplingParams, SettingError
from specchat_engine.decoding.drafts import ROOT, Alternative, Context, Draft
from specchat_engine.policy.trees import Branching
from specchat_engine.testing import ScriptedModel, random_law
from specchat_engine.verifiers import REJECTION
from support.conversations import conversation, letters
from support.loops import Loop, RandomDrafter

N_VOCAB = 24
PROMPT = [3, 1, 4, 1, 5]


class RandomTrees(RandomDrafter):
    """Proposes random trees, whatever the context; some tokens have siblings of the same id."""

    def propose(self, context: Context, k: int) -> Draft:
        draft = super().propose(context, k)
        parents = tuple(self._random.randint(-1, place - 1) for place in range(len(draft)))
        return replace(draft, parents=parents)


class Oracle(RandomDrafter):
    """Knows the answer, and hides it in a tree of wrong tokens."""

    def __init__(self, answer: list[int], seed: int) -> None:
        super().__init__(N_VOCAB, seed)
        self._answer = answer

    def propose(self, context: Context, k: int) -> Draft:
        right = self._answer[context.position : context.position + k // 2]
        tokens, parents, last = [], [], ROOT
        for token in right:
            tokens += [(token + 1) % N_VOCAB, token]
            parents += [last, last]
            last = len(tokens) - 1
        return Draft(tuple(tokens), source=self.name, parents=tuple(parents))


@settings(max_examples=60)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.8, 1.5]), st.sampled_from([1.0, 1.3]))
def test_the_answer_does_not_depend_on_the_tree(seed: int, temperature: float, penalty: float) -> None:
    law = random_law(N_VOCAB, seed=seed, order=1 + seed % 3)
    sampling = SamplingParams(temperature=temperature, repeat_penalty=penalty)
    plain = Loop(law, PROMPT, params=sampling, seed=seed)
    ks = random.Random(seed)
    drafter = RandomTrees(N_VOCAB, seed)
    drafted = Loop(law, PROMPT, params=sampling, seed=seed, drafter=drafter, ks=lambda _: ks.randint(0, 12))
    assert drafted.run() == plain.run()


@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_a_path_hidden_in_a_tree_is_accepted_as_a_whole(temperature: float) -> None:
    sampling = SamplingParams(temperature=temperature)
    answer = Loop(random_law(N_VOCAB), PROMPT, params=sampling).run()
    loop = Loop(random_law(N_VOCAB), PROMPT, params=sampling, drafter=Oracle(answer, 1), ks=lambda _: 8)
    steps = [*loop.steps()]
    assert [step.verdict.accepted for step in steps[:7]] == [4] * 7
    assert loop.answer == answer
    assert max(loop.target.passes) == 9


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_runners_up_save_passes_and_leave_the_draft_models_memory_right(temperature: float) -> None:
    sampling = SamplingParams(temperature=temperature)
    law, cousin = random_law(N_VOCAB, order=1), random_law(N_VOCAB, seed=2, order=1, spread=0.7)
    passes = []
    for branches in (None, Branching(4, fixed=True)):
        drafter = ModelDrafter(ScriptedModel(lambda tokens: law(tokens) + cousin(tokens)))
        loop = Loop(law, PROMPT, params=sampling, drafter=drafter, branches=branches, wanted=120)
        for step in loop.steps():
            loop.check()
            known = drafter.model.tokens  # type: ignore[attr-defined]
            assert known == loop.context.tokens[: len(known)]
            assert len(step.draft) - step.draft.trunk <= (4 if branches else 0)
        passes.append(len(loop.target.passes))
    assert passes[1] < passes[0]


def test_a_chain_without_branches_is_verified_as_a_chain() -> None:
    assert Draft((1, 2, 3)).trunk == 3
    assert Draft((1, 2, 3)).path(1) == [0, 1]
    assert Draft((1, 2), alternatives=(Alternative((8,)), Alternative((1, 9)))).branched([]).parents == ()
    assert Draft((1, 2), alternatives=(Alternative((8,)),)).branched([], 1) == Draft(
        (1,), alternatives=(Alternative((8,)),)
    )


def test_alternatives_follow_what_comes_before_them_on_their_path() -> None:
    runner_up, continued, other = Alternative((7,)), Alternative((7, 8), runner_up=False), Alternative((1, 2, 9))
    chain = Draft((1, 2, 3), alternatives=(runner_up, other, continued), confidence=(0.9, 0.5, 0.9))
    tree = chain.branched([runner_up, other, continued])
    assert tree.tokens == (1, 2, 3, 7, 9, 8)
    assert tree.parents == (ROOT, 0, 1, ROOT, 1, 3)
    assert tree.trunk == 3
    assert tree.path(5) == [3, 5]
    shorter = chain.branched([runner_up], 2)
    assert (shorter.tokens, shorter.parents, shorter.confidence) == ((1, 2, 7), (ROOT, 0, ROOT), (0.9, 0.5))


def test_a_rule_that_cannot_walk_refuses_trees() -> None:
    loop = Loop(random_law(N_VOCAB), PROMPT, drafter=RandomTrees(N_VOCAB, 1), ks=lambda _: 8, verifier=REJECTION)
    with pytest.raises(SettingError, match="trees need the verifier 'coupled', not 'rejection'"):
        loop.run()
    loop.check()


def test_a_tree_with_too_many_leaves_is_an_error_that_leaves_the_memory_right() -> None:
    model = ScriptedModel(random_law(N_VOCAB))
    model.read(PROMPT, lambda: False)
    with pytest.raises(DecodeError, match="17 leaves"):
        model.advance_tree(1, [*range(17)], [ROOT] * 17)
    assert model.tokens == PROMPT


def test_a_round_lists_accepted_tokens_first_and_says_which_token_each_one_follows() -> None:
    target, draft = ScriptedModel(letters(3, order=1)), ScriptedModel(letters(4, order=1), max_rows=1)
    session = conversation(target, draft, k=3, tree=3, max_tokens=80)
    rounds = [*session.generate("hello")]
    assert any(event.parents and event.num_accepted for event in rounds)
    for event in rounds:
        outcomes = [token.outcome for token in event.drafted]
        accepted = event.num_accepted
        assert outcomes[:accepted] == [Outcome.ACCEPTED] * accepted
        if not event.parents:
            continue
        assert len(event.parents) == len(event.drafted)
        assert event.parents[:accepted] == tuple(range(-1, accepted - 1))
        assert all(parent < place for place, parent in enumerate(event.parents))
        for place, (token, parent) in enumerate(zip(event.drafted, event.parents, strict=True)):
            compared = parent < accepted
            assert (token.p is not None) == compared
            if place >= accepted:
                assert token.outcome is (Outcome.REJECTED if compared else Outcome.DISCARDED)
    texts = "".join(event.text for event in rounds)
    assert texts == session.text
    assert all(before.index + 1 == after.index for before, after in pairwise(rounds))
