"""Past chats are indexed again while the chat goes on, by a process that ends with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat.texts import CHATS, Collections, Refreshing
from support.processes import wait_until
from support.tiny_models import TinyModels


def test_after_an_answer_the_store_of_past_chats_is_brought_up_to_date(
    chats: Collections, tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat.background._NICENESS", 0)  # or busy machines leave it no time
    refreshing = Refreshing()
    refreshing.after_answer(tiny_models.target)
    assert refreshing.is_busy
    wait_until(lambda: not refreshing.is_busy)
    assert [one.tokens > 10 for one in chats.get(CHATS).made.values()] == [True]
    refreshing.after_answer(tiny_models.target)
    assert not refreshing.is_busy, "the next update waits for its time"


def test_a_store_that_is_off_or_has_no_chats_is_left_alone(
    chats: Collections, tiny_models: TinyModels, tmp_path: Path
) -> None:
    (tmp_path / "text.txt").write_text("a text")
    chats.add("texts", [str(tmp_path / "text.txt")])
    chats.turn(CHATS, on=False)
    refreshing = Refreshing()
    refreshing.after_answer(tiny_models.target)
    assert not refreshing.is_busy


def test_an_update_ends_with_the_chat(chats: Collections, tiny_models: TinyModels) -> None:
    refreshing = Refreshing()
    refreshing.after_answer(tiny_models.target)
    refreshing.stop()
    assert not refreshing.is_busy
    refreshing.stop()
