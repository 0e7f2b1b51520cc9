"""A session looks where its settings allow, and no earlier than it needs to."""

from __future__ import annotations

import pytest

from specchat_engine import Settings
from specchat_engine.decoding.drafts import Context
from specchat_engine.policy.allowed_drafters import Ways
from specchat_engine.policy.lookup_state import Lookout
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.sampler import Sampler

SAID = [1, 2, 3, 4, 5, 6, 7, 8]


def ways(**settings: object) -> Ways:
    return Ways.under(Settings(drafter="lookup", **settings), has_draft=False)  # type: ignore[arg-type]


def at(tokens: list[int]) -> Context:
    return Context(tokens, len(tokens), Sampler(SamplingParams(), 1))


def test_the_match_of_now_tells_which_tokens_followed_it() -> None:
    lookout = Lookout()
    assert lookout.look(at([*SAID, 1, 2, 3]), ways()) == 3
    assert list(lookout.foretold([4, 5, 9, 7])) == [True, True, False]
    assert not lookout.resumes
    assert lookout.look(at([*SAID, 1, 2, 3, 9]), ways()) == 0
    assert list(lookout.foretold([4, 5])) == []


def test_other_ngrams_hold_at_once() -> None:
    lookout = Lookout()
    assert lookout.look(at([*SAID, 3]), ways()) == 0
    assert lookout.look(at([*SAID, 3]), ways(ngram_min=1)) == 1


@pytest.mark.parametrize(("where", "found"), [("all", 3), ("conversation", 0)])
def test_another_conversation_is_searched_where_that_is_allowed(where: str, found: int) -> None:
    lookout, allowed = Lookout(), ways(lookup=where)
    lookout.begin(bool)
    lookout.look(at([*SAID]), allowed)
    lookout.end(at([*SAID, 9]))
    lookout.begin(bool)
    assert lookout.look(at([50, 51, 6, 7, 8]), allowed) == found


def test_what_an_answer_said_last_is_searched_in_the_next_turn_too() -> None:
    lookout = Lookout()
    lookout.begin(bool)
    lookout.look(at([*SAID]), ways())
    lookout.end(at([*SAID, 9, 10, 11]))
    lookout.begin(bool)
    assert lookout.look(at([70, 71, 9, 10]), ways()) == 2


def test_nothing_is_indexed_in_a_turn_that_never_looks() -> None:
    lookout = Lookout()
    lookout.begin(bool)
    lookout.end(at([*SAID]))
    assert lookout.look(at([50, 2, 3, 4]), ways()) == 0


def test_a_copy_that_was_left_is_taken_up_again_behind_the_edit() -> None:
    lookout, text = Lookout(), [*range(1, 21), *range(1, 9)]
    for _ in range(4):
        lookout.look(at(text), ways())
        text.append(lookout.drafter(text, ways()).propose(at(text), 1).tokens[0])
    edited = [*text, 77, 14]
    lookout.look(at(edited[:-1]), ways())
    assert lookout.astray
    assert lookout.look(at(edited), ways()) == 1
    assert lookout.resumes
