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
from specchat_engine.prompt.encoding import common_prefix
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


def chains(context: LlamaContext, tokens: list[int]) -> np.ndarray:
    """The row after these tokens, read at once."""
    context.clear()
    return context.advance(tokens, 1)[0].copy()


@st.composite
def forks(draw: st.DrawFn) -> list[tuple[int | None, int, int]]:
    """Passes after the prompt: the place of a new branch, None for the one before, and the tokens that are read."""
    count = draw(st.integers(1, 8))
    token = st.integers(1, 200)
    return [
        (draw(st.integers(0, place)) if place == 0 or draw(st.booleans()) else None, draw(token), draw(token))
        for place in range(count)
    ]


@settings(max_examples=30, deadline=None)
@given(forks(), st.integers(0, 9), st.booleans())
def test_a_branch_is_read_beside_the_text_as_if_alone(
    context: LlamaContext, passes: list[tuple[int | None, int, int]], agreeing: int, in_branch: bool
) -> None:
    """And what a text goes on with is all that stays: some of the branch, or some of the memory."""
    context.clear()
    context.advance(PROMPT, 0)
    said, start, branch, rows = [*PROMPT], 0, list[int](), []
    for place, token, other in passes:
        if place is not None:
            start, branch = place, []
            context.fork(len(PROMPT) + start)
        both = context.advance_both(token, other).copy()
        said.append(token)
        branch.append(other)
        rows.append((both, [*said], [*said[: len(PROMPT) + start], *branch]))
    assert context.tokens == said
    beside = rows[-1][2]
    text = [*(beside if in_branch else said)[: len(PROMPT) + agreeing], 201, 202]
    context.join(text, len(PROMPT))
    agreed = max(common_prefix(one, text) for one in (said, beside))
    assert context.tokens == text[:agreed]
    after = context.advance([203, 204], 2).copy()
    for row, then in zip(after, ([203], [203, 204]), strict=True):
        np.testing.assert_allclose(row, chains(context, [*text[:agreed], *then]), atol=CLOSE)
    for both, *texts in rows:
        for row, tokens in zip(both, texts, strict=True):
            np.testing.assert_allclose(row, chains(context, tokens), atol=CLOSE)


@pytest.mark.parametrize("taken", [False, True])
def test_a_branch_of_any_memory_that_can_have_one_is_kept_or_not(any_context: LlamaContext, taken: bool) -> None:
    context = any_context
    context.clear()
    context.advance(PROMPT, 0)
    for place, (token, other) in enumerate([(7, 8), (9, 10), (11, 12)]):
        if place == 0:
            context.fork(len(PROMPT))
        context.advance_both(token, other)
    text = [*PROMPT, *((8, 10, 12) if taken else (7, 9, 11)), 5]
    context.join(text[:-1], len(PROMPT))
    assert context.tokens == text[:-1]
    row = context.advance([5], 1)[0].copy()
    np.testing.assert_allclose(row, chains(context, text), atol=CLOSE)


@pytest.mark.parametrize("end", ["rewind", "keep", "clear", "another"])
def test_a_branch_that_nobody_joined_leaves_no_trace(context: LlamaContext, end: str) -> None:
    context.clear()
    context.advance(PROMPT, 0)
    context.fork(len(PROMPT))
    context.advance_both(7, 8)
    if end == "rewind":
        context.rewind(len(PROMPT))
    elif end == "keep":
        context.keep([*PROMPT, 9])
    elif end == "clear":
        context.clear()
        context.advance(PROMPT, 0)
    else:
        context.fork(len(PROMPT) + 1)
        context.join([*PROMPT, 9], len(PROMPT))
    assert context.tokens == PROMPT
    with pytest.raises(DecodeError, match="no branch"):
        context.advance_both(1, 2)
    context.fork(len(PROMPT) - 1)
    beside = context.advance_both(5, 6)[1].copy()
    np.testing.assert_allclose(beside, chains(context, [*PROMPT[:-1], 6]), atol=CLOSE)


def test_a_branch_that_does_not_fit_is_refused_before_llama_sees_it(model: LlamaModel) -> None:
    context = LlamaContext(NativeContext(model, n_ctx=256, max_rows=2, threads=1))
    text = [1 + number % 200 for number in range(context.capacity - 3)]
    context.advance(text, 0)
    context.fork(len(text))
    context.advance_both(7, 8)
    with pytest.raises(DecodeError, match="do not fit a context of 256"):
        context.advance_both(7, 8)
    context.join([*text, 8], len(text))
    assert context.tokens == [*text, 8]
    context.rewind(3)
    context.fork(3)
    with pytest.raises(DecodeError, match="could not read 2 tokens"):
        context.advance_both(261, 5)
    assert context.advance([5], 1).shape[0] == 1
    context.close()
    with pytest.raises(DecodeError, match="closed"):
        context.fork(3)


@pytest.mark.parametrize("architecture", RECURRENT)
def test_a_memory_of_one_continuation_alone_has_no_branch(make: Make, architecture: str) -> None:
    context = make(architecture)
    assert not context.can_fork
    with pytest.raises(DecodeError, match="cannot hold a branch"):
        context.fork(0)


def test_neither_has_a_memory_of_several_texts_nor_one_with_a_single_row(model: LlamaModel) -> None:
    for rows, texts in ((2, 2), (1, 1)):
        native = NativeContext(model, n_ctx=256, max_rows=rows, threads=1, texts=texts)
        found: list[LlamaContext] = []
        for _ in range(texts):
            LlamaContext(native, found)
        assert not any(one.can_fork for one in found)
        native.close()
