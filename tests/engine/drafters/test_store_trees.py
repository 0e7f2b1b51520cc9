"""What followed second most often in a store branches off: the text stays the same, and the shares are learned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specchat_engine import Engine, LoadOptions, SamplingParams, Session, Settings
from specchat_engine.analysis.audit import Case, audit
from specchat_engine.decoding.drafts import ROOT, Alternative, Context, Draft
from specchat_engine.drafters import StoreDrafter, Stores
from specchat_engine.policy.acceptance import COUNTED
from specchat_engine.policy.trees import Branching
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.stores import Suffixes, write_suffixes
from specchat_engine.testing import ByteTokenizer, random_law
from support.controllers import Watched, knowing
from support.conversations import ask, conversation, letters, model_of
from support.loops import Loop
from support.tiny_models import EngineFiles

N_VOCAB = 12
PROMPT = [3, 1, 4, 1, 5]
LAW = letters(3, order=1, end=-50)


def stores_of(path: Path, documents: Sequence[Sequence[int]]) -> Stores:
    write_suffixes(path, documents)
    found = Stores()
    found.used = {"texts": Suffixes(path)}
    return found


def answers(count: int) -> list[list[int]]:
    """What LAW says in some sessions, as tokens."""
    return [[*ask(conversation(LAW, seed=seed, max_tokens=100)).encode()] for seed in range(20, 20 + count)]


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return stores_of(tmp_path / "texts", answers(8))


def drafting(stores: Stores, controller: Watched, seed: int = 1, **given: object) -> Session:
    wanted = {"drafter": "store", "k": "auto", "ngram_min": 1, "max_tokens": 150, **given}
    return conversation(LAW, stores=stores, controller=controller, seed=seed, **wanted)


def test_what_else_followed_is_named_and_what_continued_it(tmp_path: Path) -> None:
    texts = [[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3, 4], [1, 2, 6, 8], [1, 2, 6, 8], [1, 2, 6, 7], [1, 2, 3, 4], [1, 2]]
    drafter = StoreDrafter(stores_of(tmp_path / "texts", texts))
    context = Context([1, 2], 2, Sampler(SamplingParams(), 0), branches=Branching(4))
    match = drafter.prospect(context).match
    draft = drafter.propose(context, 4)
    assert draft.tokens == (3, 4)
    assert draft.alternatives == (
        Alternative((6,), 3 / 8),
        Alternative((6, 8), match + 1, runner_up=False),
        Alternative((3, 5), 1 / 4),
        Alternative((6, 7), 1 / 3),
    )
    assert draft.branched(draft.alternatives).parents == (ROOT, 0, ROOT, 2, 0, 2)
    context.branches = None
    assert drafter.propose(context, 4) == Draft((3, 4), source="store")


def test_nothing_follows_what_ends_the_answer(tmp_path: Path) -> None:
    texts = [[1, 2, 3, 4], [1, 2, 5, 6], [1, 2, 3, 7], [1, 2, 9, 8], [1, 2, 9]]
    drafter = StoreDrafter(stores_of(tmp_path / "texts", texts))
    context = Context([1, 2], 2, Sampler(SamplingParams(), 0), frozenset({3, 5}), branches=Branching(4))
    draft = drafter.propose(context, 4)
    assert draft.tokens == (3,)
    assert {one.path for one in draft.alternatives} == {(9,), (5,), (9, 8)}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 500), temperature=st.sampled_from([0.0, 0.8, 1.5]), tree=st.integers(1, 6))
def test_the_answer_does_not_depend_on_a_stores_tree(seed: int, temperature: float, tree: int, tmp_path: Path) -> None:
    law = random_law(N_VOCAB, seed=seed, order=1)
    sampling = SamplingParams(temperature=temperature)
    said = [Loop(law, PROMPT, params=SamplingParams(temperature=1), seed=other).run() for other in range(6)]
    drafter = StoreDrafter(stores_of(tmp_path / "texts", said))
    drafter.configure(Settings(ngram_min=1), may_vary=True)
    branches = Branching(tree, fixed=True)
    drafted = Loop(law, PROMPT, params=sampling, seed=seed + 9, drafter=drafter, branches=branches)
    assert drafted.run() == Loop(law, PROMPT, params=sampling, seed=seed + 9).run()


def test_where_width_is_free_trees_save_passes_and_where_it_is_dear_there_are_none(stores: Stores) -> None:
    passes = {}
    for tree, verify in ((0, 0.0), ("auto", 0.0), ("auto", 0.4)):
        total, trees = 0, 0
        for seed in range(1, 4):
            session = drafting(stores, knowing(verify, 0.5), seed, tree=tree)
            trees += sum(bool(event.parents) for event in session.generate("hello"))
            assert session.text == ask(conversation(LAW, seed=seed, max_tokens=150))
            total += len(model_of(session).passes)
        passes[tree, verify] = total
        assert (trees > 0) == (tree == "auto" and verify == 0)
    assert passes["auto", 0.0] < 0.97 * passes[0, 0.0]


def test_the_share_of_runners_up_that_are_right_is_learned_where_what_they_follow_was(stores: Stores) -> None:
    controller = knowing(0.0, 0.5)
    session = drafting(stores, controller)
    drafts: list[Draft] = []
    session.watch = lambda _context, draft, _verdict, _logits: drafts.append(draft)
    before = controller.posterior("store", COUNTED).p_accept()
    rounds = [*session.generate("hello")]
    place = right = deep = 0
    for event, draft, (_, outcome) in zip(rounds, drafts, controller.learned, strict=True):
        emitted = tuple(session.answer_ids[place : place + event.num_emitted])
        seen = [
            (one.evidence, one.path == emitted[: len(one.path)])
            for one in draft.alternatives
            if one.runner_up and len(one.path) <= len(emitted) and one.path[:-1] == emitted[: len(one.path) - 1]
        ]
        assert outcome.runners_up == seen
        right += sum(taken for _, taken in seen)
        deep += sum(node >= draft.trunk for node in range(len(draft)) if node in draft.parents)
        place += event.num_emitted
    assert right > 3 < deep
    assert controller.posterior("store", COUNTED).p_accept() != before


@pytest.mark.parametrize("given", [{"k": 32, "drafter": "hybrid"}, {"k": "auto"}, {"k": 32}, {"k": 30}])
def test_a_tree_of_a_fixed_size_fits_a_pass(tmp_path: Path, given: dict[str, object]) -> None:
    said = [*ask(conversation(LAW, max_tokens=150)).encode()]
    often = [said, said, [token for token in said for _ in range(2)]]
    session = drafting(stores_of(tmp_path / "texts", often), knowing(0.0, 0.5), tree=4, **given)
    assert max(len(event.drafted) for event in session.generate("hello")) == model_of(session).max_rows - 1
    assert session.text.encode() == bytes(said)


@pytest.mark.parametrize("drafter", ["store", "hybrid"])
def test_a_fixed_k_and_tree_are_what_a_draft_has_at_most(stores: Stores, drafter: str) -> None:
    session = drafting(stores, knowing(0.3, 0.5), drafter=drafter, k=3, tree=2)
    assert max(len(event.drafted) for event in session.generate("hello")) == 3 + 2


def test_accepted_runners_up_are_hits(stores: Stores) -> None:
    session = drafting(stores, knowing(0.0, 0.5))
    accepted = sum(event.num_accepted for event in session.generate("hello"))
    assert stores.taken_hits() == {"texts": accepted}


def test_the_audit_finds_nothing_in_answers_with_trees_from_stores(stores: Stores) -> None:
    plain = conversation(LAW, stores=stores)
    target = model_of(plain)
    cases = [
        Case(
            "test",
            prompt,
            Settings(4, "store", sampling=SamplingParams(temperature=temperature), max_tokens=60, tree=3, ngram_min=1),
        )
        for prompt in ("hello", "why")
        for temperature in (0.0, 0.8)
    ]
    trees: list[Draft] = []

    def session_for(asked: Settings) -> Session:
        session = Session(plain.pair, settings=asked, seed=5)
        session.watch = lambda _context, draft, _verdict, _logits: trees.append(draft) if draft.parents else None
        return session

    result = audit(session_for, target, ByteTokenizer(), cases)
    assert (result.compared, result.findings) == (4, [])
    assert len(trees) > 10


def test_an_engine_with_trees_from_a_store_says_what_it_would_say_plainly(files: EngineFiles, tmp_path: Path) -> None:
    with Engine.load(files.target, None, LoadOptions(threads=1), stores={}) as engine:
        sampling = SamplingParams(temperature=1.0)
        texts = []
        for seed in range(4):
            plain = engine.session(settings=Settings(k=0, max_tokens=40, sampling=sampling), seed=seed)
            list(plain.generate("Hello"))
            texts.append([*plain.prompt_ids, *plain.answer_ids])
            said = plain.text
        write_suffixes(tmp_path / "said", texts)
        engine.use_stores({"said": tmp_path / "said"})
        drafted = Settings(k=4, drafter="store", max_tokens=40, sampling=sampling, tree=4, ngram_min=1)
        session = engine.session(settings=drafted, seed=3)
        rounds = [*session.generate("Hello")]
        assert session.text == said
        assert any(event.parents for event in rounds)
        assert session.stats.num_accepted_tokens > 20
