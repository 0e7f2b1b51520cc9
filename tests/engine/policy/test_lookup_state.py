"""A session looks up matches where its settings allow it, and indexes no earlier than it needs to."""

from __future__ import annotations

import pytest

from specchat_engine import Settings
from specchat_engine.decoding.drafts import Context
from specchat_engine.policy.lookup_state import LookupState
from specchat_engine.prompt.context_fit import Fitted
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.sampler import Sampler

SAID = [1, 2, 3, 4, 5, 6, 7, 8]


def at(tokens: list[int]) -> Context:
    return Context(tokens, len(tokens), Sampler(SamplingParams(), 1))


def opened(lookup: LookupState, where: str = "all", **settings: object) -> LookupState:
    """With a turn that has just begun."""
    lookup.open([], Fitted([], (), 0))
    lookup.configure(Settings(drafter="lookup", lookup=where, **settings), may_vary=True)  # type: ignore[arg-type]
    return lookup


def test_it_tells_which_tokens_followed_the_match() -> None:
    lookup = opened(LookupState())
    prospect = lookup.prospect(at([*SAID, 1, 2, 3]))
    assert (prospect.match, prospect.resumed) == (3, False)
    assert list(lookup.foretold([4, 5, 9, 7])) == [True, True, False]
    assert lookup.prospect(at([*SAID, 1, 2, 3, 9])).match == 0
    assert list(lookup.foretold([4, 5])) == []


def test_other_ngrams_hold_at_once() -> None:
    lookup = opened(LookupState())
    assert lookup.prospect(at([*SAID, 3])).match == 0
    lookup.configure(Settings(ngram_min=1), may_vary=True)
    assert lookup.prospect(at([*SAID, 3])).match == 1


@pytest.mark.parametrize(("where", "found"), [("all", 3), ("conversation", 0)])
def test_another_conversation_is_searched_if_that_is_allowed(where: str, found: int) -> None:
    lookup = opened(LookupState(), where)
    lookup.prospect(at([*SAID]))
    lookup.end(at([*SAID, 9]))
    assert opened(lookup, where).prospect(at([50, 51, 6, 7, 8])).match == found


def test_another_conversation_is_not_searched_if_the_text_depends_on_drafts() -> None:
    lookup = opened(LookupState())
    lookup.prospect(at([*SAID]))
    lookup.end(at([*SAID, 9]))
    lookup.open([], Fitted([], (), 0))
    lookup.configure(Settings(), may_vary=False)
    assert lookup.prospect(at([50, 51, 6, 7, 8])).match == 0


def test_what_an_answer_said_last_is_searched_in_the_next_turn_too() -> None:
    lookup = opened(LookupState())
    lookup.prospect(at([*SAID]))
    lookup.end(at([*SAID, 9, 10, 11]))
    assert opened(lookup).prospect(at([70, 71, 9, 10])).match == 2


def test_nothing_is_indexed_in_a_turn_that_never_looks() -> None:
    lookup = opened(LookupState())
    lookup.end(at([*SAID]))
    assert opened(lookup).prospect(at([50, 2, 3, 4])).match == 0


def test_a_copy_that_was_left_at_an_edit_is_taken_up_again() -> None:
    lookup, text = opened(LookupState()), [*range(1, 21), *range(1, 9)]
    for _ in range(4):
        lookup.prospect(at(text))
        text.append(lookup.propose(at(text), 1).tokens[0])
    lookup.prospect(at([*text, 77]))
    prospect = lookup.prospect(at([*text, 77, 14]))
    assert (prospect.match, prospect.resumed) == (1, True)
