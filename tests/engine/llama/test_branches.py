"""Trees in llama.cpp's memory: their logits are those of chains, and a path that is taken is all that stays."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import DecodeError
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from support.memory_models import CLOSE, RECURRENT, Make

PROMPT = [40 + number % 90 for number in range(30)]


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Tokens and parents, in an order in which parents come first."""
    size = draw(st.integers(1, 12))
    parents = [draw(st.integers(-1, place - 1)) for place in range(size)]
    return draw(st.lists(st.integers(1, 200), min_size=size, max_size=size)), parents


def path_to(node: int, parents: list[int]) -> list[int]:
    found: list[int] = []
    while node >= 0:
        found.insert(0, node)
        node = parents[node]
    return found


@pytest.fixture(scope="module")
def context(model: LlamaModel) -> Iterator[LlamaContext]:
    context = LlamaContext(NativeContext(model, n_ctx=512, max_rows=13, threads=1))
    yield context
    context.close()


@pytest.fixture(params=["llama", "gemma3"])
def any_context(request: pytest.FixtureRequest, context: LlamaContext, make: Make) -> LlamaContext:
    """With a plain cache, and with one whose windows are shorter than the prompt."""
    return context if request.param == "llama" else make(request.param)


@pytest.mark.parametrize("architecture", RECURRENT)
def test_a_memory_that_holds_one_continuation_alone_says_so(make: Make, architecture: str) -> None:
    assert make(architecture).max_leaves == 1


def test_a_trees_logits_are_those_of_its_chains(any_context: LlamaContext) -> None:
    context = any_context
    dice = random.Random(3)
    for size in (1, 2, 5, 12):
        tree = [dice.randint(1, 200) for _ in range(size)]
        parents = [dice.randint(-1, place - 1) for place in range(size)]
        context.clear()
        context.advance(PROMPT, 0)
        rows = context.advance_tree(7, tree, parents).copy()
        assert rows.shape[0] == size + 1
        for node in range(-1, size):
            context.clear()
            chain = [*PROMPT, 7, *(tree[one] for one in path_to(node, parents))]
            np.testing.assert_allclose(rows[node + 1], context.advance(chain, 1)[0], atol=CLOSE)


def test_only_the_path_that_is_taken_stays(any_context: LlamaContext) -> None:
    context = any_context
    tree, parents = [11, 12, 13, 14, 15, 16], [-1, 0, 0, -1, 3, 3]
    for path in ([], [0], [0, 1], [0, 2], [3], [3, 5]):
        context.clear()
        context.advance(PROMPT, 0)
        context.advance_tree(7, tree, parents)
        context.take(path)
        said = [*PROMPT, 7, *(tree[node] for node in path)]
        assert context.tokens == said
        after = context.advance([99, 98], 2).copy()
        context.clear()
        np.testing.assert_allclose(after, context.advance([*said, 99, 98], 2), atol=CLOSE)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(trees(), st.integers(0, 100)), min_size=1, max_size=6))
def test_any_number_of_trees_follow_each_other(
    context: LlamaContext, rounds: list[tuple[tuple[list[int], list[int]], int]]
) -> None:
    context.clear()
    said = [*PROMPT]
    context.advance(said, 0)
    for (tree, parents), chosen in rounds:
        context.advance_tree(9, tree, parents)
        path = path_to(chosen % (len(tree) + 1) - 1, parents)
        context.take(path)
        said += [9, *(tree[node] for node in path)]
    assert context.tokens == said
    row = context.advance([5], 1)[0].copy()
    context.clear()
    np.testing.assert_allclose(row, context.advance([*said, 5], 1)[0], atol=CLOSE)


def test_a_tree_that_nobody_took_a_path_of_leaves_no_trace(context: LlamaContext) -> None:
    context.clear()
    context.advance(PROMPT, 0)
    context.advance_tree(7, [11, 12], [-1, -1])
    context.rewind(len(PROMPT))
    assert context.tokens == PROMPT
    row = context.advance([8], 1)[0].copy()
    context.clear()
    np.testing.assert_allclose(row, context.advance([*PROMPT, 8], 1)[0], atol=CLOSE)


def test_a_tree_that_does_not_fit_is_refused_before_llama_sees_it(context: LlamaContext) -> None:
    context.clear()
    context.advance(PROMPT, 0)
    with pytest.raises(DecodeError, match="13 leaves: 12 tokens and 13 leaves are reserved"):
        context.advance_tree(7, [1] * 13, [-1] * 13)
    with pytest.raises(DecodeError, match="could not read 3 tokens"):
        context.advance_tree(7, [261, 5], [-1, -1])
    assert context.advance([5], 1).shape[0] == 1
