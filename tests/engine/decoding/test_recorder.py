"""Rounds as a reader sees them: texts, outcomes, probabilities and times."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from specchat_engine import Outcome, Round, TokenKind
from specchat_engine.codec import from_json, to_json
from specchat_engine.testing import Law, ScriptedModel
from support.controllers import Clock
from support.conversations import ask, conversation, letters, model_of, read_by_a_fresh_session, saying

COUSIN = letters(3, order=1)


def test_rounds_count_and_time_themselves() -> None:
    session = conversation(letters(3, end=-50), COUSIN)
    began = time.perf_counter()
    rounds = list(session.generate("hello"))
    wall = (time.perf_counter() - began) * 1000
    assert [event.index for event in rounds] == list(range(len(rounds)))
    assert all(before.t_ms < after.t_ms for before, after in pairwise(rounds))
    assert session.stats.wall_ms == rounds[-1].t_ms <= wall
    assert all(event.ms.other >= 0 for event in rounds)
    assert session.stats.decode_ms <= rounds[-1].t_ms


def test_a_slow_reader_shows_in_the_time_that_is_neither_draft_nor_verify(clock: Clock) -> None:
    session = conversation(letters(3, end=-50), max_tokens=5)
    for _ in session.generate("hello"):
        clock.pass_by(50)
    assert 4 * 50 < session.stats.other_ms < 4 * 50 + 1
    assert session.stats.decode_ms <= session.stats.wall_ms


@pytest.mark.parametrize("slow", ["target", "draft"])
def test_going_back_is_neither_verifying_nor_drafting_nor_other(slow: str, clock: Clock) -> None:
    models = {"target": ScriptedModel(letters(3, end=-50)), "draft": ScriptedModel(COUSIN)}
    models[slow] = slow_model = SlowToGoBack(models[slow].law, clock)
    session = conversation(models["target"], models["draft"])
    session.measures_plain = False  # passes after the answer go back too, and belong to no round
    rounds = list(session.generate("hello"))
    went_back = sum(event.ms.rollback for event in rounds)
    assert slow_model.times > 3
    assert went_back == session.stats.rollback_ms == pytest.approx(5 * slow_model.times, abs=1)
    assert session.stats.draft_ms + session.stats.verify_ms < 1, "a scripted pass counts a microsecond"
    assert session.stats.other_ms < 1
    assert went_back < session.stats.decode_ms <= session.stats.wall_ms


class SlowToGoBack(ScriptedModel):
    """Takes five milliseconds to forget, and says so, as a model does; counts how often."""

    def __init__(self, law: Law, clock: Clock) -> None:
        super().__init__(law)
        self._clock = clock
        self.times = 0

    def rewind(self, length: int) -> None:
        if length < len(self.tokens):
            self._clock.pass_by(5)
            self.rollback_ns += 5_000_000
            self.times += 1
        super().rewind(length)


def test_the_texts_of_the_rounds_are_the_answer() -> None:
    session = conversation(saying("Grüße, 😀 und Küsse"), saying("Grüße, 😀 und Bisse"))
    rounds = list(session.generate("hello"))
    assert "".join(event.text for event in rounds) == session.text == "Grüße, 😀 und Küsse"


def test_an_event_shows_the_draft_and_the_targets_best_candidates() -> None:
    session = conversation(saying("abcdefgh"), saying("abcxefgh"), k=4)
    first = next(iter(session.generate("hello")))
    shown = [(token.text, token.outcome) for token in first.drafted]
    assert shown == [
        ("a", Outcome.ACCEPTED),
        ("b", Outcome.ACCEPTED),
        ("c", Outcome.ACCEPTED),
        ("x", Outcome.REJECTED),
    ]
    assert (first.token.text, first.token.kind, first.text) == ("d", TokenKind.CORRECTION, "abcd")
    assert [token.q for token in first.drafted] == [1.0] * 4
    assert [token.p for token in first.drafted] == [1.0, 1.0, 1.0, 0.0]
    assert first.top[0].text == "d"


def test_lookup_has_no_probabilities_of_its_own() -> None:
    session = conversation(saying("abcabcabcabc"), drafter="lookup", k=4, ngram_min=1)
    drafted = [token for event in session.generate("hello") for token in event.drafted]
    assert drafted
    assert all(token.q is None for token in drafted)


def test_the_measured_speed_up_appears_after_the_first_answer() -> None:
    session = conversation(letters(3, end=-50), COUSIN, on_cpu=False)
    ask(session)
    assert session.stats.plain_ms is not None
    assert session.stats.speedup is not None


@pytest.mark.parametrize(("ks", "counted"), [((4, 0), 0), ((0, 0), 1)], ids=["between drafts", "among plain ones"])
def test_a_plain_pass_right_after_a_draft_does_not_count_as_plain_decoding(
    ks: tuple[int, int], counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat_engine.session.measure_plain", lambda *_: None)
    session = conversation(saying("abcdefghij" * 3), saying("abcdefghij" * 3), k=ks[0], drafter="model", on_cpu=False)
    for event in session.generate("hello"):
        session.settings = replace(session.settings, k=ks[(event.index + 1) % 2])
    assert (session.stats.plain_ms is not None) == counted


def test_measuring_plain_passes_leaves_the_memory_alone() -> None:
    session = conversation(letters(3, end=-50), COUSIN)
    ask(session)
    held = list(model_of(session).tokens)
    assert held == read_by_a_fresh_session(session)


def test_a_round_is_complete_and_frozen_when_it_comes() -> None:
    event = next(iter(conversation(saying("ab")).generate("hello")))
    with pytest.raises(AttributeError):
        event.k = 3  # type: ignore[misc]
    assert from_json(Round, to_json(event)) == event


def test_the_parts_of_a_rounds_time_are_all_of_it() -> None:
    session = conversation(letters(3, end=-50), COUSIN)
    rounds = list(session.generate("hello"))
    for before, after in pairwise(rounds):
        ms = after.ms
        assert ms.draft + ms.verify + ms.rollback + ms.other == pytest.approx(after.t_ms - before.t_ms)


def test_pass_times_are_passed_on_several_at_once() -> None:
    heard: list[list[tuple[int, float, float]]] = []
    session = conversation(
        letters(3, end=-50), COUSIN, max_tokens=199, passed=lambda _, passes: heard.append(list(passes))
    )
    rounds = list(session.generate("hello"))
    made = [(1 + len(event.drafted), event.ms.verify, event.ms.draft) for event in rounds]
    assert len(made) > 64
    assert [one for few in heard for one in few] == made[: len(made) // 32 * 32]
    assert {len(few) for few in heard} == {32}


class SlowToRead(ScriptedModel):
    """Counts some milliseconds more for each pass."""

    more_ms = 50

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        self.busy_ns += self.more_ms * 1_000_000
        return super().advance(tokens, rows)


def test_longer_passes_are_passed_on_in_smaller_groups() -> None:
    model, heard = SlowToRead(letters(3, end=-50)), list[int]()
    model.more_ms = 15
    session = conversation(model, max_tokens=9, passed=lambda _, passes: heard.append(len(passes)))
    list(session.generate("hello"))
    assert heard == [3, 3, 3]


def test_a_long_pass_is_passed_on_at_once_and_the_listener_may_add_a_notice() -> None:
    session = conversation(
        SlowToRead(letters(3, end=-50)),
        max_tokens=5,
        passed=lambda notes, passes: notes.append(f"{len(passes)} pass"),
    )
    list(session.generate("hello"))
    assert session.notices == ["1 pass"] * 5
