"""The history of α stays small, loses no count, and is smoothed where few tokens were compared."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specchat.learning.alpha_history import AlphaEntry, extended, joined
from specchat_engine.decoding.stats import AcceptanceCounts

NOTHING = AcceptanceCounts()


def entry(tokens: int, accepted: int, rejected: int) -> AlphaEntry:
    return AlphaEntry(tokens, "prose", False, accepted, rejected)


@given(
    st.lists(
        st.tuples(
            st.integers(1, 5000),
            st.sampled_from(["code", "prose", "free"]),
            st.booleans(),
            st.integers(0, 400),
            st.integers(0, 400),
        ),
        max_size=200,
    )
)
def test_it_stays_small_and_loses_no_count(answers: list[tuple[int, str, bool, int, int]]) -> None:
    history: tuple[AlphaEntry, ...] = ()
    total, sums = 0, dict[tuple[str, bool], AcceptanceCounts]()
    for tokens, kind, learned, accepted, rejected in answers:
        total += tokens
        counts = AcceptanceCounts(accepted, rejected)
        history = extended(history, total, kind, *((NOTHING, counts) if learned else (counts, NOTHING)))
        if counts.num_tested_tokens:
            sums[kind, learned] = sums.get((kind, learned), NOTHING) + counts
    found = dict[tuple[str, bool], AcceptanceCounts]()
    for one in history:
        key = one.kind, one.learned
        counts = AcceptanceCounts(one.num_accepted_tokens, one.num_rejected_tokens)
        found[key] = found.get(key, NOTHING) + counts
    assert found == sums
    for key in found:
        places = [one.tokens for one in history if (one.kind, one.learned) == key]
        assert len(places) <= 65
        assert places == sorted(set(places))


def test_answers_that_are_close_share_an_entry_and_later_ones_do_not() -> None:
    history: tuple[AlphaEntry, ...] = ()
    for tokens in (100, 300, 900):
        history = extended(history, tokens, "code", AcceptanceCounts(3, 1), AcceptanceCounts(1, 1))
    original = [one for one in history if not one.learned]
    assert [(one.tokens, one.num_accepted_tokens, one.num_rejected_tokens) for one in original] == [
        (300, 6, 2),
        (900, 3, 1),
    ]
    assert [one.alpha for one in history if one.learned] == [0.5, 0.5]


def test_an_answer_without_a_draft_leaves_no_entry() -> None:
    assert extended((), 100, "code", NOTHING, NOTHING) == ()


def test_entries_are_joined_until_each_has_enough_tokens() -> None:
    entries = [entry(10, 30, 10), entry(20, 50, 20), entry(30, 90, 10), entry(40, 5, 5)]
    assert joined(entries, 100) == [entry(20, 80, 30), entry(40, 95, 15)]
    assert joined(entries[:1], 100) == entries[:1]
    assert joined([], 100) == []
