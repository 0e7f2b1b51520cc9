"""An answer's statistics are those of its rounds, whenever they are looked at and by whomever."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import Round, Session, TurnStats
from specchat_engine.decoding.books import Books, Timed
from specchat_engine.decoding.costs import PlainCost
from support.conversations import conversation, letters

LAW, COUSIN = letters(3, end=-50), letters(3, end=-50, order=1)


def summed_up(rounds: list[Round], session: Session) -> TurnStats:
    stats = TurnStats(session.stats.prompt_tokens, session.stats.prompt_ms, session.stats.draft_prompt_ms)
    for event in rounds:
        stats.observe(event)
    stats.plain_ms = session.stats.plain_ms
    return stats


@settings(max_examples=30, deadline=None)
@given(st.sets(st.integers(0, 60)), st.sampled_from([0, 3]))
def test_what_is_read_in_the_middle_is_what_all_rounds_by_then_say(looked: set[int], k: int) -> None:
    session = conversation(LAW, COUSIN, k=k)
    rounds = []
    for event in session.generate("hello"):
        rounds.append(event)
        if event.index in looked:
            assert asdict(session.stats) == asdict(summed_up(rounds, session))
    assert asdict(session.stats) == asdict(summed_up(rounds, session))
    assert session.stats.num_tokens == 60


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns as often as can be."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("restless")
def test_several_readers_count_each_round_once() -> None:
    books, failed = Books(PlainCost()), list[BaseException]()
    rounds = 5000
    for place in range(rounds):
        marks = (place * 10, 0, place * 6, 0), (place * 10 + 10, 0, place * 6 + 6, 0)
        books.waiting.append(((place, place, place + 1, *marks, 0, False), 2, 1, 2, True))

    def read() -> None:
        try:
            books.count()
        except IndexError as error:
            failed.append(error)

    readers = [Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    stats = books.stats
    assert not failed
    assert (stats.num_rounds, stats.num_tokens, stats.num_rejected_tokens) == (rounds, 2 * rounds, rounds)


def test_the_parts_of_a_round_are_all_of_it() -> None:
    timed = Timed((3, 10, 12, (5_000_000, 1, 2, 3), (9_000_000, 1_000_001, 2_000_002, 500_003), 1_000_000, False))
    assert (timed.index, timed.start, timed.end, timed.rested) == (3, 10, 12, False)
    times = timed.times
    assert (times.draft, times.verify, times.rollback, times.other) == (1.0, 2.0, 0.5, 0.5)
    assert timed.t_ms == 8.0


def test_only_plain_passes_among_plain_ones_tell_what_they_take() -> None:
    """Nor does one behind a rest."""
    cost = PlainCost(keep=100)
    books = Books(cost)
    drafted, rested = [2, 0, 0, 0, 3, 0, 0], [False] * 6 + [True]
    for place, (width, still) in enumerate(zip(drafted, rested, strict=True)):
        marks = (0, 0, 0, 0), (9_000_000, 0, (place + 1) * 1_000_000, 0)
        books.waiting.append(((place, place, place + 1, *marks, 0, still), width, 0, bool(width), True))
    books.count()
    assert [milliseconds for _, milliseconds in cost._passes] == [3.0, 4.0]


def test_what_passed_between_two_rounds_apart_from_passes_is_told_by_their_marks() -> None:
    earlier = Timed((3, 3, 4, (0, 0, 0, 0), (10_000_000, 1_000_000, 4_000_000, 500_000), 0, False))
    later = Timed((9, 9, 10, (30_000_000, 3_000_000, 18_000_000, 1_500_000), (0, 0, 0, 0), 0, False))
    assert later.other_ms_since(earlier) == 20 - 2 - 14
