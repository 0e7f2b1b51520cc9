"""Stored texts draft, in the drafter and in an engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from specchat_engine import Engine, LoadOptions, SamplingParams, Settings
from specchat_engine.decoding.drafts import ROOT, Context, Draft
from specchat_engine.decoding.verification import TokenKind, Verdict
from specchat_engine.drafters import StoreDrafter, Stores
from specchat_engine.errors import TextStoreError
from specchat_engine.prompt.encoding import Fitted
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.settings import UNAIDED
from specchat_engine.stores import Suffixes, write_suffixes
from support.tiny_models import EngineFiles


def context(tokens: Sequence[int], ends: frozenset[int] = frozenset()) -> Context:
    return Context(list(tokens), len(tokens), Sampler(SamplingParams(), 0), ends)


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    found = Stores()
    for name, text in {"one": [[1, 2, 3, 4, 5]], "two": [[2, 3, 9, 9], [2, 3, 9, 8], [7, 1, 2, 3, 6]]}.items():
        write_suffixes(tmp_path / name, text)
        found.used = {**found.used, name: Suffixes(tmp_path / name)}
    return found


def test_the_longest_match_of_all_stores_drafts(stores: Stores) -> None:
    drafter = StoreDrafter(stores)
    drafter.open([], Fitted([], (), 0))
    assert drafter.propose(context([7, 1, 2, 3]), 4).tokens == (6,)
    assert drafter.prospect(context([5, 2, 3])).match == 2
    assert drafter.propose(context([5, 2, 3]), 1).tokens == (9,)
    assert drafter.propose(context([5, 2, 3, 4]), 3).tokens == (5,)
    assert drafter.propose(context([5, 2, 3, 4, 8]), 3).note == "no match in the stores"
    assert drafter.prospect(context([5, 2, 3, 4, 8, 8])).match == 0


def test_a_draft_ends_with_the_answer(stores: Stores) -> None:
    drafter = StoreDrafter(stores)
    assert drafter.propose(context([1, 2], frozenset({4})), 5).tokens == (3, 4)


def test_accepted_tokens_are_counted_for_their_store(stores: Stores) -> None:
    drafter = StoreDrafter(stores)
    draft = drafter.propose(context([1, 2]), 3)
    assert drafter.match_continuation(3) == draft.tokens
    drafter.observe(context([1, 2, 3, 4]), draft, Verdict(2, 7, TokenKind.CORRECTION, (), Candidates.certain(7)))
    assert stores.hits == {"one": 2}
    drafter.open([], Fitted([], (), 0))
    assert drafter.match_continuation(1) == ()


def test_accepted_tokens_of_a_branch_are_counted(stores: Stores) -> None:
    drafter = StoreDrafter(stores)
    drafter.prospect(context([1, 2]))
    draft = Draft((1, 2, 3), source="store", parents=(ROOT, 0, 0))
    drafter.observe(context([1, 2]), draft, Verdict(2, 7, TokenKind.CORRECTION, (), Candidates.certain(7), (0, 2)))
    assert stores.taken_hits() == {"one": 2}


def test_an_engine_drafts_from_stores_that_may_change_while_it_runs(files: EngineFiles, tmp_path: Path) -> None:
    options = LoadOptions(threads=1)
    with Engine.load(files.target, None, options, stores={}) as engine:
        assert engine.drafters == ("hybrid", "lookup", "store", *UNAIDED, "none")
        settings = Settings(drafter="store", k=6, max_tokens=40)
        plain = engine.session(settings=settings, seed=4)
        list(plain.generate("Hello"))
        assert plain.stats.num_draft_tokens == 0
        write_suffixes(tmp_path / "said", [[*plain.prompt_ids, *plain.answer_ids]])
        engine.use_stores({"said": tmp_path / "said"})
        for drafter in ("store", "hybrid"):
            again = engine.session(settings=Settings(drafter=drafter, k=6, max_tokens=40), seed=4)
            sources = {event.source for event in again.generate("Hello") if event.drafted}
            assert again.text == plain.text
            assert "store" in sources
            assert again.stats.num_accepted_tokens > 20
        assert engine.stores.hits["said"] > 40
        with pytest.raises(TextStoreError):
            engine.use_stores({"gone": tmp_path / "gone"})
        assert [*engine.stores.used] == ["said"]
    with Engine.load(files.target, None, options) as engine:
        assert "store" not in engine.drafters
