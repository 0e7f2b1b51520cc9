"""The index finds what a search of the whole text would find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specchat_engine.errors import TextStoreError
from specchat_engine.stores import Suffixes, write_suffixes
from specchat_engine.stores.suffixes import DEPTH

texts = st.lists(st.lists(st.integers(0, 3), max_size=30), max_size=5)
tails = st.lists(st.integers(0, 3), min_size=1, max_size=12)


def places(documents: Sequence[Sequence[int]], tail: Sequence[int], length: int) -> list[tuple[int, int]]:
    """Document and place after each occurrence of the last `length` tokens."""
    wanted = [*tail[-length:]]
    return [
        (number, end)
        for number, document in enumerate(documents)
        for end in range(length, len(document) + 1)
        if [*document[end - length : end]] == wanted
    ]


def longest(documents: Sequence[Sequence[int]], tail: Sequence[int]) -> int:
    return next((length for length in range(min(len(tail), DEPTH), 0, -1) if places(documents, tail, length)), 0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(documents=texts, tail=tails)
def test_the_longest_match_and_the_number_of_its_places_are_found(
    documents: list[list[int]], tail: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "index"
    assert write_suffixes(path, documents) == sum(len(document) + 1 for document in documents)
    index = Suffixes(path)
    found, wanted = index.find(tail, 1), longest(documents, tail)
    index.close()
    if not wanted:
        assert found is None
    else:
        assert found is not None
        assert (found.length, found.count) == (wanted, len(places(documents, tail, wanted)))


def followed(
    documents: Sequence[Sequence[int]], places: Iterable[tuple[int, int]], path: tuple[int, ...]
) -> Counter[int]:
    """How often each token followed this path at these places, -1 for the end of a document."""
    ends = [(documents[number], end) for number, end in places]
    return Counter(
        document[end + len(path)] if end + len(path) < len(document) else -1
        for document, end in ends
        if (*document[end : end + len(path)],) == path
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(documents=texts, tail=tails, k=st.integers(1, 6), most=st.integers(0, 8))
def test_a_continuation_follows_the_most_places_at_each_step_and_knows_what_else_followed(
    documents: list[list[int]], tail: list[int], k: int, most: int, tmp_path: Path
) -> None:
    path = tmp_path / "index"
    write_suffixes(path, documents)
    index = Suffixes(path)
    found = index.find(tail, 1)
    if found:
        alive = places(documents, tail, found.length)
        said = index.continuation(found, k, most)
        for ahead, token in enumerate(said.tokens):
            following = followed(documents, alive, said.tokens[:ahead])
            assert following[token] == max(following.values())
            assert following[token] >= 0.25 * found.count
        known = {said.tokens[:end] for end in range(len(said.tokens) + 1)}
        often = []
        for other in said.others:
            before, token = other.path[:-1], other.path[-1]
            following = followed(documents, alive, before)
            assert before in known
            assert other.path not in known
            assert token >= 0
            assert other.share == pytest.approx(following[token] / following.total())
            assert other.runner_up or following[token] == max(following.values())
            siblings = [one for one in said.others if one.path[:-1] == before and not one.runner_up]
            assert len(siblings) + (before == said.tokens[: len(before)] and len(before) < len(said.tokens)) <= 1
            known.add(other.path)
            often.append(following[token])
        assert often == sorted(often, reverse=True)
        assert len(said.tokens) <= k >= max((len(other.path) for other in said.others), default=0)
        every = {
            (*path, token)
            for path in known - {said.tokens if len(said.tokens) < k else ()}
            if len(path) < k
            for token in followed(documents, alive, path)
            if token >= 0
        }
        assert len(said.others) == most or every <= known
    index.close()


def test_large_ids_sort_as_numbers_and_long_texts_match_deeply(tmp_path: Path) -> None:
    text = [300_000 + number * 7 % 5000 for number in range(3000)]
    path = tmp_path / "index"
    write_suffixes(path, [text, text[500:900], [1, 2]])
    index = Suffixes(path)
    found = index.find(text[:800], 2)
    assert found is not None
    assert (found.length, found.count) == (DEPTH, 2)
    assert index.continuation(found, 3).tokens == tuple(text[800:803])
    assert index.find([7, 9], 1) is None
    index.close()
    index.close()


def test_an_empty_store_has_no_match(tmp_path: Path) -> None:
    path = tmp_path / "index"
    assert write_suffixes(path, []) == 0
    assert Suffixes(path).find([1, 2], 1) is None


@pytest.mark.parametrize("content", [b"", b"something else" * 20])
def test_a_file_that_is_no_index_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "index"
    path.write_bytes(content)
    with pytest.raises(TextStoreError, match="is not an index of a store, or was cut off: make it again"):
        Suffixes(path)


def test_an_index_that_was_cut_off_or_is_missing_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "index"
    write_suffixes(path, [[1, 2, 3]])
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(TextStoreError, match="was cut off"):
        Suffixes(path)
    with pytest.raises(TextStoreError, match="cannot be read: No such file"):
        Suffixes(tmp_path / "missing")
