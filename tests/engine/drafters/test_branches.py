"""A draft model reads a branch beside its chain: the text stays the same, and the branch is what it would draft."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import Engine, LoadOptions, ModelDrafter, SamplingParams, Session, Settings
from specchat_engine.decoding.drafts import Alternative, Context, Draft
from specchat_engine.decoding.generate import Step
from specchat_engine.drafters import HierarchyDrafter
from specchat_engine.policy.trees import Branching
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.testing import Law, ScriptedModel, random_law
from support.controllers import knowing
from support.conversations import ask, conversation, letters, model_of
from support.loops import Loop
from support.tiny_models import EngineFiles

N_VOCAB = 12
PROMPT = [3, 1, 4, 1, 5]
TREE = Branching(8, fixed=True)


def cousin(law: Law, spread: float = 0.7) -> Law:
    """A draft model's law that is often like this one."""
    other = random_law(N_VOCAB, seed=9, order=1, spread=spread)
    return lambda tokens: law(tokens) + other(tokens)


def steps(loop: Loop) -> Iterator[Step]:
    """The rounds, of which each leaves both memories right."""
    assert isinstance(loop.drafter, ModelDrafter)
    model = loop.drafter.model
    assert isinstance(model, ScriptedModel)
    for step in loop.steps():
        loop.check()
        assert model.tokens == loop.context.tokens[: model.length]
        assert model.length < len(loop.context.tokens)
        yield step


def taken_beside(step: Step) -> int:
    """How many accepted tokens were beside the chain."""
    return sum(node >= step.draft.trunk for node in step.verdict.path)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 500),
    temperature=st.sampled_from([0.0, 0.8, 1.5]),
    penalty=st.sampled_from([1.0, 1.3]),
    k=st.integers(1, 8),
    tree=st.integers(1, 10),
    sharpness=st.sampled_from([1.0, 2.0]),
)
def test_the_answer_does_not_depend_on_it(
    seed: int, temperature: float, penalty: float, k: int, tree: int, sharpness: float
) -> None:
    law = random_law(N_VOCAB, seed=seed, order=1 + seed % 2)
    sampling = SamplingParams(temperature=temperature, repeat_penalty=penalty)
    drafter = ModelDrafter(ScriptedModel(cousin(law), max_rows=2))
    loop = Loop(
        law,
        PROMPT,
        params=sampling,
        seed=seed,
        drafter=drafter,
        ks=lambda _: k,
        branches=Branching(tree, fixed=True),
        sharpness=sharpness,
        wanted=60,
    )
    for step in steps(loop):
        assert len(step.draft) - step.draft.trunk <= tree
    assert loop.answer == Loop(law, PROMPT, params=sampling, seed=seed, wanted=60).run()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 500), temperature=st.sampled_from([0.0, 0.8, 1.5]), sharpness=st.sampled_from([1.0, 2.0]))
def test_a_branch_is_what_the_model_would_draft_after_a_runner_up(
    seed: int, temperature: float, sharpness: float
) -> None:
    """With the noise of each position, and with penalties for the tokens of the branch alone."""
    law = cousin(random_law(N_VOCAB, seed=seed))
    sampler = Sampler(SamplingParams(temperature=temperature, repeat_penalty=1.4), seed)
    context = Context([*PROMPT, 7, 8], len(PROMPT), sampler, sharpness=sharpness, branches=TREE)
    draft = ModelDrafter(ScriptedModel(law)).propose(context, 6)
    continued = [one for one in draft.alternatives if not one.runner_up]
    assert len(continued) == 5
    assert {one.path[:-1] for one in continued} <= {one.path for one in draft.alternatives}
    for one in continued:
        fresh = Context([*context.tokens, *one.path[:-1]], len(PROMPT), sampler, sharpness=sharpness)
        expected = ModelDrafter(ScriptedModel(law)).propose(fresh, 1)
        assert expected.tokens == one.path[-1:]
        assert one.row is not None
        assert list(expected.rows[0].ids) == list(one.row.ids)
        assert list(expected.rows[0].log_p) == pytest.approx(list(one.row.log_p))


def test_its_confidence_and_what_a_draft_without_branches_says_are_the_same() -> None:
    law = cousin(random_law(N_VOCAB))
    drafts = []
    for branches in (None, TREE):
        sampler = Sampler(SamplingParams(temperature=1.0), 1)
        context = Context([*PROMPT], len(PROMPT), sampler, worth_more=lambda _: True, branches=branches)
        drafts.append(ModelDrafter(ScriptedModel(law)).propose(context, 6))
    assert drafts[0].tokens == drafts[1].tokens
    assert drafts[0].confidence == drafts[1].confidence
    assert all(0 < one.evidence < 1 for one in drafts[1].alternatives)
    tokens, confidence = drafts[1].tokens, drafts[1].confidence
    runners_up = [one for one in drafts[1].alternatives if one.path[:-1] == tokens[: len(one.path) - 1]]
    assert [one.evidence for one in runners_up] == list(confidence)


def test_deeper_branches_save_passes() -> None:
    law, passes, deep = random_law(N_VOCAB), {}, 0
    for rows in (1, 2):
        drafter = ModelDrafter(ScriptedModel(cousin(law), max_rows=rows))
        loop = Loop(law, PROMPT, params=SamplingParams(), drafter=drafter, ks=lambda _: 6, branches=TREE, wanted=400)
        deep += sum(taken_beside(step) > 1 for step in steps(loop))
        passes[rows] = len(loop.target.passes)
        assert deep > 10 if rows == 2 else deep == 0
    assert passes[2] < 0.95 * passes[1]


def test_a_branch_ends_with_the_answer() -> None:
    law = random_law(N_VOCAB)
    ends = frozenset(range(0, N_VOCAB, 3))
    for seed in range(20):
        context = Context([*PROMPT], len(PROMPT), Sampler(SamplingParams(temperature=1.5), seed), ends, branches=TREE)
        draft = ModelDrafter(ScriptedModel(law)).propose(context, 6)
        assert all(ends.isdisjoint(one.path[:-1]) for one in draft.alternatives)


def test_memories_without_room_for_a_branch_get_runners_up_alone() -> None:
    law = random_law(N_VOCAB)
    full = ScriptedModel(law, capacity=len(PROMPT) + 8)
    for drafter in (
        ModelDrafter(ScriptedModel(law, max_rows=1)),
        HierarchyDrafter(ScriptedModel(law)),
        ModelDrafter(full),
    ):
        context = Context([*PROMPT], len(PROMPT), Sampler(SamplingParams(), 1), branches=TREE)
        draft = drafter.propose(context, 6)
        assert len(draft.tokens) == len(draft.alternatives) == 6
        assert all(one.runner_up for one in draft.alternatives)


def drafting(verify: float, tree: int | Literal["auto"] = "auto") -> Session:
    """A session with a draft model that is often right, where each further token in a pass costs `verify`."""
    law, other = letters(3, order=1, end=-50), letters(8, order=1, end=-50)
    draft = ScriptedModel(lambda tokens: law(tokens) + np.float32(0.35) * other(tokens), max_rows=2)
    return conversation(law, draft, controller=knowing(verify, 0.1), k="auto", tree=tree, max_tokens=400)


def test_where_width_is_free_branches_are_read_and_where_it_is_dear_none_is() -> None:
    plain = ask(conversation(letters(3, order=1, end=-50), max_tokens=400))

    def wide_passes(verify: float, tree: int | Literal["auto"]) -> int:
        session = drafting(verify, tree)
        assert ask(session) == plain
        return model_of(session, "draft").passes.count(2)

    assert wide_passes(0.0, "auto") > wide_passes(0.0, 0) + 20
    assert wide_passes(0.4, "auto") == wide_passes(0.4, 0)


def test_a_branch_that_was_taken_is_not_read_again() -> None:
    session, unread = drafting(0.0), []
    taken: list[int] = []
    session.watch = lambda _context, draft, verdict, _logits: taken.append(
        sum(node >= draft.trunk for node in verdict.path)
    )
    for _ in session.generate("hello"):
        text, draft = [*session.prompt_ids, *session.answer_ids], model_of(session, "draft")
        assert draft.tokens == text[: draft.length]
        if taken[-1] > 1:
            unread.append(len(text) - draft.length)
    assert len(unread) > 5
    assert sum(count <= 2 for count in unread) > len(unread) / 2, "without its branch in memory all would be read again"


def test_an_engine_reads_branches_and_says_what_it_would_say_plainly(files: EngineFiles) -> None:
    """The draft is the target with a sharper q, so it errs where the target takes a runner-up, and only there."""
    sampling = SamplingParams(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
    with Engine.load(files.target, files.target, LoadOptions(threads=1)) as engine:
        plain = engine.session(settings=Settings(k=0, max_tokens=120, sampling=sampling), seed=3)
        list(plain.generate("Hello"))
        drafted = Settings(k=5, drafter="model", max_tokens=120, sampling=sampling, tree=6, sharpness=1.6)
        session = engine.session(settings=drafted, seed=3)
        taken = []

        def watch(_: Context, draft: Draft, verdict: object, __: object) -> None:
            taken.append(sum(node >= draft.trunk for node in verdict.path))  # type: ignore[attr-defined]

        session.watch = watch
        list(session.generate("Hello"))
        assert session.text == plain.text
        assert sum(count > 1 for count in taken) > 2
        again = engine.session(settings=Settings(k=5, drafter="model", max_tokens=40, sampling=sampling), seed=4)
        list(again.generate("Hello again"))
        assert again.stats.acceptance_rate == 1


def test_a_draft_that_is_itself_sped_up_makes_trees_of_runners_up(files: EngineFiles) -> None:
    with Engine.load(files.target, files.draft, LoadOptions(threads=1, hierarchy="on")) as engine:
        session = engine.session(settings=Settings(k=4, drafter="model", max_tokens=40, tree=4), seed=3)
        rounds = [*session.generate("Hello")]
        assert any(event.parents for event in rounds)
        plain = engine.session(settings=Settings(k=0, max_tokens=40), seed=3)
        list(plain.generate("Hello"))
        assert session.text == plain.text


def test_a_runner_up_that_is_likelier_takes_the_place_of_a_branch() -> None:
    """`next_read` sees the runners-up that were not read yet, and the end of the branch."""
    seen: list[tuple[list[tuple[int, ...]], tuple[int, ...]]] = []

    class Watching(Branching):
        def next_read(self, draft: Draft, ends: list[Alternative]) -> Alternative | None:  # type: ignore[override]
            seen.append(([one.path for one in ends], draft.tokens))
            return ends[1] if len(seen) == 3 else ends[0]

    model = ScriptedModel(random_law(N_VOCAB))
    context = Context([*PROMPT], len(PROMPT), Sampler(SamplingParams(), 1), branches=Watching(8, fixed=True))
    draft = ModelDrafter(model).propose(context, 5)
    runners_up = [one.path for one in draft.alternatives if one.runner_up]
    branch = [one.path for one in draft.alternatives if not one.runner_up]
    assert [chain for _, chain in seen] == [draft.tokens[:end] for end in range(1, 5)]
    assert seen[0][0] == runners_up[:1]
    assert seen[1][0] == [branch[0], runners_up[1]]
    assert seen[2][0] == [branch[1], runners_up[1], runners_up[2]]
    assert seen[3][0] == [branch[2], runners_up[2], runners_up[3]]
    assert branch[2][:-1] == runners_up[1]
    assert len(branch) == 4
