"""A trace comes back line by line."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from specchat.errors import StoreError
from specchat.store import Store, new_id
from support.stored import begun, said

LINES = [json.dumps({"type": "round", "index": index, "text": "é\u2028\n"}, ensure_ascii=False) for index in range(500)]


def test_a_trace_comes_back_line_by_line_and_takes_little_space(store: Store, path: Path) -> None:
    answer = said(store, begun(store), "answer")
    store.keep_trace(answer, LINES)
    assert store.trace(answer) == LINES
    row = store._first("SELECT length(lines) FROM traces")
    assert row is not None
    assert row[0] < sum(map(len, LINES)) / 5


def test_lines_as_a_file_holds_them_are_the_same(store: Store) -> None:
    answer = said(store, begun(store), "answer")
    store.keep_trace(answer, [line + "\n" for line in LINES])
    assert store.trace(answer) == LINES


def test_a_trace_kept_again_takes_the_place_of_the_first(store: Store) -> None:
    answer = said(store, begun(store), "answer")
    store.keep_trace(answer, LINES)
    store.keep_trace(answer, ["{}"])
    assert store.trace(answer) == ["{}"]


def test_an_answer_without_a_trace_has_none(store: Store) -> None:
    assert store.trace(said(store, begun(store), "answer")) is None
    with pytest.raises(StoreError):
        store.keep_trace(new_id(), ["{}"])


@pytest.mark.parametrize("damage", [b"\0\0", zlib.compress(b"\xff")])
def test_a_damaged_trace_is_told_in_one_line(store: Store, damage: bytes) -> None:
    answer = said(store, begun(store), "answer")
    store.keep_trace(answer, LINES)
    store._run("UPDATE traces SET lines = ?", (damage,))
    with pytest.raises(StoreError, match="is damaged") as told:
        store.trace(answer)
    assert "\n" not in str(told.value)
