"""The most frequent continuation is drafted, by the longest n-gram that was seen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specchat_engine import SamplingParams
from specchat_engine.decoding.drafts import Context
from specchat_engine.drafters.adaptive_ngrams import AdaptiveNgramDrafter
from specchat_engine.prompt.encoding import Fitted
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.testing import random_law
from support.loops import Loop

TEXTS = st.lists(st.integers(0, 3), max_size=40)


def context(tokens: list[int], ends: frozenset[int] = frozenset()) -> Context:
    return Context(tokens, 1, Sampler(SamplingParams(), 1), ends=ends)


def test_it_drafts_what_followed_most_often_and_not_what_followed_last() -> None:
    text = [1, 2, 7, 1, 2, 7, 1, 2, 8, 9, 1, 2]
    assert AdaptiveNgramDrafter().propose(context(text), 1).tokens == (7,)


def test_a_longer_n_gram_counts_before_a_shorter_one() -> None:
    text = [5, 1, 2, 8, 1, 2, 7, 1, 2, 7, 5, 1, 2]
    assert AdaptiveNgramDrafter().propose(context(text), 1).tokens == (8,)


def test_a_draft_goes_on_from_its_own_tokens_up_to_an_end() -> None:
    text = [1, 2, 3, 4, 5, 0, 1, 2]
    assert AdaptiveNgramDrafter().propose(context(text), 9).tokens == (3, 4, 5, 0, 1, 2, 3, 4, 5)
    assert AdaptiveNgramDrafter().propose(context(text, frozenset({4})), 9).tokens == (3, 4)


def test_it_drafts_nothing_after_tokens_that_it_has_not_seen() -> None:
    drafter = AdaptiveNgramDrafter()
    assert drafter.prospect(context([1, 2, 3])).note
    assert drafter.propose(context([1, 2, 3]), 4).tokens == ()


@given(TEXTS, TEXTS, TEXTS)
def test_what_is_drafted_depends_on_the_text_alone(before: list[int], text: list[int], rest: list[int]) -> None:
    """Not on the texts of earlier turns, nor on how much of this one was read at a time."""
    used = AdaptiveNgramDrafter()
    for known in (before, text):
        used.open(known, Fitted(known, (), 0))
        if known:
            used.propose(context(known), 3)
    if whole := text + rest:
        assert used.propose(context(whole), 8).tokens == AdaptiveNgramDrafter().propose(context(whole), 8).tokens


def test_the_text_is_that_of_plain_decoding() -> None:
    for temperature in (0.0, 0.8):
        params, prompt = SamplingParams(temperature=temperature), [3, 1, 4, 1, 5]
        law = random_law(6, order=1)
        drafted = Loop(law, prompt, params=params, drafter=AdaptiveNgramDrafter(), wanted=150)
        plain = Loop(law, prompt, params=params, wanted=150)
        assert drafted.run() == plain.run()
        assert len(drafted.target.passes) < len(plain.target.passes)
