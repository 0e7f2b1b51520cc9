"""Documents become rows whose targets are the next learned token of the same document."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.training.packing import IGNORED, TokenDocument, batches_by_length, fill_rows, pack


def test_only_learned_tokens_are_targets() -> None:
    batch = pack([[TokenDocument([1, 2, 3], [False, False, True], 5), TokenDocument([8, 9], [False, True], 6)]], 6)
    assert batch.targets.tolist() == [[IGNORED, 3, IGNORED, 9, IGNORED, IGNORED]]
    assert batch.positions.tolist() == [[0, 1, 2, 0, 1, 0]]
    assert batch.documents.tolist() == [[1, 1, 1, 2, 2, 0]]
    assert batch.groups.tolist() == [[5, 5, 5, 6, 6, 0]]
    assert batch.wanted.tolist() == [1, 3]


@given(st.lists(st.integers(1, 18), max_size=30))
def test_every_document_that_fits_is_in_one_row_and_no_row_overflows(sizes: list[int]) -> None:
    rows = fill_rows((TokenDocument([7] * size, [True] * size) for size in sizes), (8, 16))
    assert sorted(len(each.ids) for row in rows for each in row.documents) == sorted(s for s in sizes if s <= 16)
    assert all(row.room >= 0 for row in rows)


def test_a_new_row_is_no_longer_than_its_first_document_needs() -> None:
    documents = [TokenDocument([1] * size, [True] * size) for size in (3, 4, 7, 30)]
    batches = batches_by_length(documents, (8, 4), tokens=8)
    assert [tuple(batch.ids.shape) for batch in batches] == [(2, 4), (1, 8)]


def test_short_documents_fill_what_long_ones_leave() -> None:
    (row,) = fill_rows([TokenDocument([1] * size, [True] * size) for size in (2, 5, 1)], (4, 8))
    assert [len(document.ids) for document in row.documents] == [5, 2, 1]
