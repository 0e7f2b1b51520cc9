"""Depths, leaves and paths of a tree follow from its parents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.trees import ROOT, chain_of, depths_of, leaves_of, path_to

TREE = (ROOT, 0, 0, 2, ROOT)
trees = st.integers(1, 12).flatmap(lambda size: st.tuples(*(st.integers(ROOT, place - 1) for place in range(size))))


def test_a_tree_has_depths_leaves_and_paths() -> None:
    assert depths_of(TREE) == [0, 1, 1, 2, 0]
    assert leaves_of(TREE) == [1, 3, 4]
    assert path_to(3, TREE) == [0, 2, 3]
    assert path_to(ROOT, TREE) == []


def test_a_chain_has_one_leaf_and_the_empty_tree_none() -> None:
    assert depths_of(chain_of(4)) == path_to(3, chain_of(4)) == [0, 1, 2, 3]
    assert leaves_of(chain_of(4)) == [3]
    assert depths_of(chain_of(0)) == leaves_of([]) == []


@given(trees)
def test_a_tokens_depth_is_how_many_tokens_its_path_has_before_it(parents: tuple[int, ...]) -> None:
    paths = [path_to(node, parents) for node in range(len(parents))]
    assert depths_of(parents) == [len(path) - 1 for path in paths]
    inner = {node for path in paths for node in path[:-1]}
    assert {*leaves_of(parents)} == {*range(len(parents))} - inner
