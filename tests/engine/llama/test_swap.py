"""A text that is swapped out costs the others nothing, and goes on where it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specchat_engine import DecodeError, LoadOptions
from specchat_engine.llama import swap
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.library import api
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.memory.placement import HOST, DeviceMemory, Machine
from support.memory_models import CLOSE, write_memory_model

LONG = [40 + number % 90 for number in range(60)]
SHORT = [70, 71, 72, 73]


def opened(model: LlamaModel, count: int = 3, flash: str = "off") -> tuple[NativeContext, list[LlamaContext]]:
    options = LoadOptions(flash_attention=flash)
    native = NativeContext(model, n_ctx=256, max_rows=5, threads=1, options=options, texts=count)
    texts: list[LlamaContext] = []
    for _ in range(count):
        LlamaContext(native, texts)
    return native, texts


@pytest.fixture
def texts(model: LlamaModel) -> Iterator[list[LlamaContext]]:
    native, texts = opened(model)
    yield texts
    native.close()


@pytest.fixture(scope="module")
def alone(model: LlamaModel) -> Iterator[LlamaContext]:
    context = LlamaContext(NativeContext(model, n_ctx=256, max_rows=5, threads=1))
    yield context
    context.close()


Windowed = tuple[NativeContext, list[LlamaContext], LlamaContext]


@pytest.fixture
def windowed(tmp_path: Path) -> Iterator[Windowed]:
    """Three texts of a model with a sliding window, and another context of it."""
    model = LlamaModel(write_memory_model(tmp_path / "model.gguf", "gemma3"))
    native, texts = opened(model)
    alone = LlamaContext(NativeContext(model, n_ctx=256, max_rows=5, threads=1))
    yield native, texts, alone
    for context in (native, alone):
        context.close()
    model.close()


def never() -> bool:
    return False


def has_cells(native: NativeContext, sequence: int) -> bool:
    return bool(api.llama_memory_seq_pos_max(native.memory, sequence) >= 0)


def check_next(text: LlamaContext, alone: LlamaContext) -> None:
    """The next token's logits are those of a context that has read this text alone."""
    alone.clear()
    alone.read(text.tokens, never)
    np.testing.assert_allclose(text.advance([44], 1)[0], alone.advance([44], 1)[0], atol=CLOSE)


def test_only_the_text_that_is_read_has_cells(model: LlamaModel) -> None:
    native, (first, second, third) = opened(model)
    for text in (first, second, third):
        text.read(LONG, never)
    second.swap_idle_out({1})
    assert [has_cells(native, sequence) for sequence in range(3)] == [False, True, False]
    first.swap_idle_out({0})
    first.read([*LONG, 50], never)
    assert [has_cells(native, sequence) for sequence in range(3)] == [True, False, False]
    native.close()


def test_beside_another_answer_idle_texts_alone_are_swapped_out(model: LlamaModel, alone: LlamaContext) -> None:
    native, texts = opened(model)
    for text in texts:
        text.read(LONG, never)
    texts[2].swap_idle_out({1, 2})
    assert [has_cells(native, sequence) for sequence in range(3)] == [False, True, True]
    for text in texts[1:]:
        check_next(text, alone)
    native.close()


def test_the_text_that_is_read_moves_to_the_cells_that_others_left(
    texts: list[LlamaContext], alone: LlamaContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass computes as many cells as reach up to the last one in use."""
    first, second, _ = texts
    first.read(LONG, never)
    second.read(SHORT, never)
    load, loaded = api.llama_state_seq_set_data, []

    def recorded(handle: Any, data: Any, size: int, sequence: int) -> int:
        loaded.append(sequence)
        return int(load(handle, data, size, sequence))

    monkeypatch.setattr(api, "llama_state_seq_set_data", recorded)
    second.swap_idle_out({1})
    assert loaded == [1]
    second.swap_idle_out({1})
    assert loaded == [1], "once is enough"
    check_next(second, alone)


def test_it_goes_on_where_it_was(texts: list[LlamaContext], alone: LlamaContext) -> None:
    first, second, _ = texts
    first.read(LONG, never)
    second.read(SHORT, never)
    second.swap_idle_out({1})
    check_next(second, alone)
    assert first.tokens == LONG
    assert first.read([*LONG, 50, 51], never) == len(LONG), "nothing is read again"
    check_next(first, alone)


def test_another_text_takes_over_its_beginning(texts: list[LlamaContext], alone: LlamaContext) -> None:
    first, second, third = texts
    first.read(LONG, never)
    second.swap_idle_out({1})
    assert second.read([*LONG[:40], *SHORT], never) == 40
    check_next(second, alone)
    third.swap_idle_out({2})
    assert third.read([*LONG, *SHORT], never) == len(LONG)
    check_next(third, alone)
    assert first.read([*LONG, 50], never) == len(LONG)
    check_next(first, alone)


def test_it_can_be_saved_dropped_and_shortened(texts: list[LlamaContext], alone: LlamaContext) -> None:
    first, second, third = texts
    for text in (first, second):
        text.read(LONG, never)
    third.swap_idle_out({2})
    assert first.state_bytes == second.state_bytes > 0
    third.read(SHORT, never)
    third.swap_idle_out({2})
    first.rewind(10)
    assert first.tokens == LONG[:10]
    check_next(first, alone)
    second.clear()
    assert second.read(SHORT, never) == len(SHORT), "as the third text has them"
    check_next(second, alone)


def test_with_flash_attention_all_texts_stay(model: LlamaModel) -> None:
    """It skips the cells of others."""
    native, (first, second) = opened(model, 2, flash="on")
    first.read(LONG, never)
    second.swap_idle_out({1})
    assert has_cells(native, 0)
    native.close()


def test_without_main_memory_for_a_copy_all_texts_stay(model: LlamaModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap, "this_machine", lambda: Machine((DeviceMemory(HOST, "cpu", 1000, 10**9),)))
    native, (first, second) = opened(model, 2)
    first.read(LONG, never)
    second.swap_idle_out({1})
    assert has_cells(native, 0)
    assert first.read([*LONG, 50], never) == len(LONG)
    native.close()


def test_a_copy_that_cannot_be_read_back_is_read_again(
    texts: list[LlamaContext], alone: LlamaContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, _ = texts
    first.read(LONG, never)
    second.read(SHORT, never)
    second.swap_idle_out({1})
    monkeypatch.setattr(api, "llama_state_seq_set_data", lambda *_: 0)
    assert first.read(LONG, never) == 0
    check_next(first, alone)


def test_a_pass_brings_its_text_back(texts: list[LlamaContext], alone: LlamaContext) -> None:
    """An answer that is still open may go on after another one in its place was refused."""
    first, second, _ = texts
    first.read(LONG, never)
    second.swap_idle_out({1})
    check_next(first, alone)


def test_a_closed_context_swaps_nothing(model: LlamaModel) -> None:
    _, (first, second) = opened(model, 2)
    first.read(LONG, never)
    second.swap_idle_out({1})
    first.close()
    second.swap_idle_out({1})
    with pytest.raises(DecodeError, match="was closed"):
        first.advance([50], 1)
    with pytest.raises(DecodeError, match="was closed"):
        second.read(SHORT, never)


def test_texts_of_a_sliding_window_stay_and_share_what_they_still_have(windowed: Windowed) -> None:
    """A copy of theirs has only the last tokens of the window's layers, so that nobody could begin with it."""
    native, (first, second, _), alone = windowed
    first.read([*LONG, *LONG, *LONG], never)
    second.swap_idle_out({1})
    assert has_cells(native, 0)
    second.read([*LONG, *SHORT], never)
    for text in (second, first):
        check_next(text, alone)


def test_what_a_sliding_window_has_dropped_is_taken_over_by_nobody(windowed: Windowed) -> None:
    """llama.cpp gives the cells of tokens that no window sees any more to other texts."""
    _, (first, second, third), alone = windowed
    second.read(SHORT, never)
    first.read([*LONG, *LONG, *LONG], never)
    second.clear()
    second.read([90] * 100, never)
    assert third.read([*LONG, *SHORT], never) == 0
    for text in (third, first, second):
        check_next(text, alone)


def test_a_text_that_takes_over_another_ones_window_has_no_hole_before_it(windowed: Windowed) -> None:
    """A hole would be noticed by nobody: llama.cpp knows the first and the last token of a text."""
    _, (first, second, third), alone = windowed
    whole = [*LONG, *LONG, *LONG]
    third.read(SHORT, never)
    first.read(whole, never)
    second.read(whole[:20], never)
    third.clear()
    third.read([90] * 100, never)
    second.read([*whole[:170], *SHORT], never)
    check_next(second, alone)
    for length in (120, 100):
        second.read([*whole[:length], *SHORT], never)
        check_next(second, alone)


READS = st.tuples(st.integers(0, 2), st.integers(0, 50), st.lists(st.integers(40, 43), max_size=6), st.booleans())


@settings(max_examples=40)
@given(st.lists(READS, min_size=2, max_size=8))
def test_whatever_is_read_in_turn_each_text_is_what_it_says(
    model: LlamaModel, alone: LlamaContext, reads: list[tuple[int, int, list[int], bool]]
) -> None:
    native, texts = opened(model)
    try:
        for place, kept, new, is_alone in reads:
            text = texts[place]
            if is_alone:
                text.swap_idle_out({place})
            wanted = [*LONG[:kept], *new, 50]
            text.read(wanted, never)
            assert text.tokens == wanted
        for text in texts:
            if text.length:
                text.keep(text.tokens)
                check_next(text, alone)
    finally:
        native.close()


WINDOW_READS = st.tuples(st.integers(0, 2), st.sampled_from([0, 20, 110, 150]), st.sampled_from([1, 5, 100]))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WINDOW_READS, min_size=6, max_size=12))
def test_so_it_is_where_a_sliding_window_moves_on(windowed: Windowed, reads: list[tuple[int, int, int]]) -> None:
    _, texts, alone = windowed
    whole = [*LONG, *LONG, *LONG]
    for text in texts:
        text.clear()
    for place, kept, count in reads:
        texts[place].read([*whole[:kept], *[90] * count], never)
        check_next(texts[place], alone)
