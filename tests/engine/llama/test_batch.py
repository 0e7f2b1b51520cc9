"""Rows of logits are seen where they lie, and that may change from one pass to the next."""

from __future__ import annotations

import numpy as np
import pytest

from specchat_engine.llama.batch import LogitRows
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel


def somewhere(first: float) -> np.ndarray:
    return np.arange(first, first + 12, dtype=np.float32).reshape(3, 4)


def test_views_show_what_lies_at_an_address_now() -> None:
    here, there = somewhere(0), somewhere(100)
    rows = LogitRows(3, 4)
    for array in (here, there, here):
        for count in (1, 3, 2, 3):
            np.testing.assert_array_equal(rows.at(array.ctypes.data, count), array[:count])
    view = rows.at(here.ctypes.data, 2)
    assert view is rows.at(here.ctypes.data, 2), "made once"
    here[1, 2] = -5
    assert view[1, 2] == -5


def test_a_single_token_is_answered_from_where_llama_cpp_says(
    model: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = LlamaContext(model, n_ctx=64, max_rows=2, threads=1)
    for first in (0, 1000):
        elsewhere = np.arange(first, first + 2 * 261, dtype=np.float32)
        monkeypatch.setattr("specchat_engine.llama.context.get_logits_address", lambda _, at=elsewhere.ctypes.data: at)
        np.testing.assert_array_equal(context.advance([40], 1)[0], elsewhere[:261])
    context.close()
