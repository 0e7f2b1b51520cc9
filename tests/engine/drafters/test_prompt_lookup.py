"""Prompt lookup proposes what a search of the whole context would find, without searching it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine import PromptLookupDrafter, SamplingParams, SettingError, Settings
from specchat_engine.decoding.drafts import Context
from specchat_engine.drafters import prompt_lookup
from specchat_engine.prompt.encoding import Fitted
from specchat_engine.sampling.sampler import Sampler

SAMPLER = Sampler(SamplingParams(), 0)
texts = st.lists(st.integers(0, 3), min_size=1, max_size=40)


def context(tokens: Sequence[int], ends: frozenset[int] = frozenset()) -> Context:
    return Context(list(tokens), len(tokens), SAMPLER, ends)


def proposal(drafter: PromptLookupDrafter, tokens: Sequence[int], k: int = 4) -> tuple[int, ...]:
    return drafter.propose(context(tokens), k).tokens


def proposal_of(drafter: PromptLookupDrafter, prompt: Sequence[int]) -> tuple[int, ...]:
    """The proposal behind a prompt that begins a turn."""
    drafter.begin(prompt, lambda: False)
    return proposal(drafter, prompt, 8)


def searched(tokens: Sequence[int], k: int, shortest: int, longest: int) -> tuple[int, ...]:
    """The same by searching: longest n-gram first, most recent match, repeating where it runs into the end."""
    tokens = list(tokens)
    for length in range(min(longest, len(tokens) - 1), shortest - 1, -1):
        tail = tokens[-length:]
        for end in range(len(tokens) - 1, length - 1, -1):
            if tokens[end - length : end] == tail:
                said = list(tokens)
                for place in range(k):
                    said.append(said[end + place])
                return tuple(said[len(tokens) :])
    return ()


@given(texts, st.integers(1, 6), st.integers(1, 4), st.integers(0, 3))
def test_the_index_finds_what_a_search_finds(tokens: list[int], k: int, shortest: int, more: int) -> None:
    drafter = PromptLookupDrafter(shortest, shortest + more)
    drafter.begin(tokens, lambda: False)
    assert proposal(drafter, tokens, k) == searched(tokens, k, shortest, shortest + more)


def following(said: Sequence[Sequence[int]], shortest: int, longest: int) -> set[int]:
    """What followed the longest match of the last text's end in any of the texts; nothing where nothing ever did."""
    tail = said[-1]
    for length in range(min(longest, len(tail)), shortest - 1, -1):
        followed = {
            text[end] for text in said for end in range(length, len(text)) if text[end - length : end] == tail[-length:]
        }
        if followed:
            return followed
    return set()


@given(st.lists(texts, min_size=1, max_size=5), st.lists(st.integers(0, 20), min_size=5), st.integers(1, 3))
def test_what_was_said_is_found_wherever_the_conversation_turned(
    turns: list[list[int]], kept: list[int], shortest: int
) -> None:
    drafter = PromptLookupDrafter(shortest, shortest + 2)
    said: list[list[int]] = [[]]
    for turn, keep in zip(turns, kept, strict=False):
        said.append(said[-1][:keep] + turn)
        drafter.begin(said[-1], lambda: False)
        for token in (1, 2, 1):
            said[-1].append(token)
            expected = following(said, shortest, shortest + 2)
            match = drafter.find(context(said[-1]))
            if match and match.resumed:
                continue
            found = proposal(drafter, said[-1], 1)
            assert set(found) <= expected
            assert bool(found) == bool(expected)


def test_nothing_follows_the_end_of_what_was_said() -> None:
    drafter = PromptLookupDrafter()
    drafter.begin([1, 2, 3, 4, 5], lambda: False)
    assert proposal_of(drafter, [9, 4, 5]) == ()
    assert proposal_of(drafter, [8, 2, 3]) == (4, 5)


def test_an_answer_that_is_given_again_is_proposed_from_its_question_on() -> None:
    drafter = PromptLookupDrafter()
    question, answer = [1, 2, 3, 4], [5, 6, 7]
    drafter.begin([*question, *answer], lambda: False)
    assert proposal_of(drafter, question) == (5, 6, 7)
    assert proposal_of(drafter, [0, *question]) == (5, 6, 7)


def test_a_drafter_that_is_to_recall_nothing_keeps_its_index_while_the_conversation_goes_on() -> None:
    drafter = PromptLookupDrafter()
    drafter.begin([9, 1, 2, 3], lambda: False)
    assert proposal_of(drafter, [8, 1, 2]) == (3,)
    drafter.recalls = False
    assert proposal_of(drafter, [8, 1, 2]) == ()
    index = drafter._index
    assert proposal_of(drafter, [8, 1, 2, 7, 1, 2]) == (7, 1, 2, 7, 1, 2, 7, 1)
    assert drafter._index is index
    assert proposal_of(drafter, [8, 5, 1, 2]) == ()


def test_what_was_said_long_ago_is_forgotten_with_the_next_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_lookup, "_PAST", 8)
    drafter = PromptLookupDrafter()
    drafter.begin([1, 2, 3, 4], lambda: False)
    assert proposal_of(drafter, [7, 1, 2]) == (3, 4)
    drafter.begin([5, 6, 7, 8, 9, 10, 11, 12], lambda: False)
    assert proposal_of(drafter, [7, 1, 2]) == ()


def test_a_copy_goes_on_after_an_edit_and_another_turn_knows_nothing_of_it() -> None:
    drafter, source = PromptLookupDrafter(), [*range(10, 30)]
    prompt = [*source, 1]
    drafter.begin(prompt, lambda: False)
    for length in range(7):
        proposal(drafter, [*prompt, *source[:length]])
    edited = [*prompt, *source[:6], 99]
    assert proposal(drafter, edited) == ()
    assert drafter.astray
    assert proposal(drafter, [*edited, source[7]]) == tuple(source[8:12])
    drafter.begin([*edited, 98], lambda: False)
    assert not drafter.astray
    assert proposal(drafter, [*edited, 98, source[7]]) == ()


def test_a_draft_stops_after_a_token_that_ends_the_answer() -> None:
    drafter = PromptLookupDrafter()
    tokens = [1, 2, 3, 0, 4, 1, 2]
    drafter.begin(tokens, lambda: False)
    assert drafter.propose(context(tokens, frozenset({0})), 4).tokens == (3, 0)


def test_nothing_new_is_proposed_and_it_says_why() -> None:
    drafter = PromptLookupDrafter()
    drafter.begin([1, 2, 3], lambda: False)
    draft = drafter.propose(context([1, 2, 3]), 4)
    assert (draft.tokens, draft.source, draft.note) == ((), "lookup", "no earlier match")


@pytest.mark.parametrize("tokens", [[], [1]])
def test_a_very_short_context_is_no_problem(tokens: list[int]) -> None:
    drafter = PromptLookupDrafter(1, 4)
    drafter.begin(tokens, lambda: False)
    assert proposal(drafter, tokens) == ()


def test_lookup_has_no_probabilities() -> None:
    drafter = PromptLookupDrafter()
    drafter.begin([5, 6, 5, 6], lambda: False)
    assert drafter.propose(context([5, 6, 5, 6]), 2).rows == ()


@pytest.mark.parametrize(("shortest", "longest"), [(0, 4), (3, 2), (2, 65), (-1, -1)])
def test_n_gram_lengths_out_of_range_are_rejected(shortest: int, longest: int) -> None:
    with pytest.raises(SettingError, match=f"{shortest} to {longest}"):
        PromptLookupDrafter(shortest, longest)


SAID = [1, 2, 3, 4, 5, 6, 7, 8]


def opened(lookup: PromptLookupDrafter, where: str = "all", **settings: object) -> PromptLookupDrafter:
    """With a turn that has just begun."""
    lookup.open([], Fitted([], (), 0))
    lookup.configure(Settings(drafter="lookup", lookup=where, **settings), may_vary=True)  # type: ignore[arg-type]
    return lookup


def test_the_continuation_has_the_tokens_that_followed_the_match() -> None:
    lookup = opened(PromptLookupDrafter())
    prospect = lookup.prospect(context([*SAID, 1, 2, 3]))
    assert (prospect.match, prospect.resumed) == (3, False)
    assert lookup.match_continuation(2) == (4, 5)
    assert lookup.prospect(context([*SAID, 1, 2, 3, 9])).match == 0
    assert lookup.match_continuation(2) == ()


def test_other_ngrams_hold_at_once() -> None:
    lookup = opened(PromptLookupDrafter())
    assert lookup.prospect(context([*SAID, 3])).match == 0
    lookup.configure(Settings(ngram_min=1), may_vary=True)
    assert lookup.prospect(context([*SAID, 3])).match == 1


@pytest.mark.parametrize(("where", "found"), [("all", 3), ("conversation", 0)])
def test_another_conversation_is_searched_if_that_is_allowed(where: str, found: int) -> None:
    lookup = opened(PromptLookupDrafter(), where)
    lookup.prospect(context([*SAID]))
    lookup.end(context([*SAID, 9]))
    assert opened(lookup, where).prospect(context([50, 51, 6, 7, 8])).match == found


def test_another_conversation_is_not_searched_if_the_text_depends_on_drafts() -> None:
    lookup = opened(PromptLookupDrafter())
    lookup.prospect(context([*SAID]))
    lookup.end(context([*SAID, 9]))
    lookup.open([], Fitted([], (), 0))
    lookup.configure(Settings(), may_vary=False)
    assert lookup.prospect(context([50, 51, 6, 7, 8])).match == 0


def test_what_an_answer_said_last_is_searched_in_the_next_turn_too() -> None:
    lookup = opened(PromptLookupDrafter())
    lookup.prospect(context([*SAID]))
    lookup.end(context([*SAID, 9, 10, 11]))
    assert opened(lookup).prospect(context([70, 71, 9, 10])).match == 2


def test_nothing_is_indexed_in_a_turn_that_never_looks() -> None:
    lookup = opened(PromptLookupDrafter())
    lookup.end(context([*SAID]))
    assert opened(lookup).prospect(context([50, 2, 3, 4])).match == 0


def test_a_copy_that_was_left_at_an_edit_is_taken_up_again() -> None:
    lookup, text = opened(PromptLookupDrafter()), [*range(1, 21), *range(1, 9)]
    for _ in range(4):
        lookup.prospect(context(text))
        text.append(lookup.propose(context(text), 1).tokens[0])
    lookup.prospect(context([*text, 77]))
    prospect = lookup.prospect(context([*text, 77, 14]))
    assert (prospect.match, prospect.resumed) == (1, True)


def predicting(prompt: Sequence[int], prediction: Sequence[int], written: Sequence[int] = ()) -> PromptLookupDrafter:
    drafter = PromptLookupDrafter()
    drafter.open(prompt, Fitted(list(prompt), (), 0, prediction))
    drafter.begin([*prompt, *written], lambda: False)
    return drafter


def test_a_predicted_answer_is_drafted_from_its_first_token_on() -> None:
    prompt, prediction = [1, 2, 3, 1, 2], [50, 51, 52, 53, 54, 55]
    drafter = predicting(prompt, prediction)
    assert proposal(drafter, prompt, 4) == (50, 51, 52, 53)
    assert proposal(drafter, [*prompt, 50, 51], 9) == (52, 53, 54, 55)


def test_a_predicted_answer_is_taken_up_again_after_an_edit() -> None:
    prompt, prediction = [1, 2, 3], list(range(50, 80))
    drafter = predicting(prompt, prediction)
    assert proposal(drafter, prompt, 2) == (50, 51)
    assert proposal(drafter, [*prompt, *range(50, 56)], 2) == (56, 57)
    changed = [*prompt, *range(50, 56), 9, 9]
    proposal(drafter, changed, 2)
    assert proposal(drafter, [*changed, 57], 3) == (58, 59, 60)


def test_an_answer_that_began_already_goes_on_in_the_prediction() -> None:
    prompt, prediction = [1, 2, 3], [50, 51, 52, 53, 54]
    assert proposal(predicting(prompt, prediction, [50, 51]), [*prompt, 50, 51], 2) == (52, 53)
    assert proposal(predicting(prompt, prediction, [7]), [*prompt, 7], 2) == ()


def test_a_prediction_holds_for_its_turn_and_the_conversation_is_found_beside_it() -> None:
    prompt = [1, 2, 3, 4, 5, 6, 7, 1, 2, 3]
    drafter = predicting(prompt, [50, 51, 52])
    assert proposal(drafter, [*prompt, 8, 3, 4], 2) == (5, 6)
    later = [*prompt, 50, 51, 20, 21]
    drafter.open(later, Fitted(later, (), 0))
    drafter.begin(later, lambda: False)
    assert proposal(drafter, later, 2) == ()
    assert proposal(drafter, [*later, 50, 51], 1)[0] in (20, 52)
