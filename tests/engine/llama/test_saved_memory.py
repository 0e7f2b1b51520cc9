"""A memory that was saved and restored answers as if nothing had happened, whatever kind of memory it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from specchat_engine.errors import DecodeError
from support.memory_models import ARCHITECTURES, Make

READ = [5, 9, 17, 33, 9, 17, 40, 3]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_follows_is_the_same_as_without_a_break(architecture: str, make: Make, tmp_path: Path) -> None:
    context, fresh = make(architecture), make(architecture)
    for one in (context, fresh):
        one.advance(READ, 1)
    context.save(tmp_path / "memory")
    context.clear()
    context.advance([7, 7, 7], 1)
    assert context.restore(tmp_path / "memory")
    assert context.tokens == READ
    expected = fresh.advance([21], 1)[0].copy()
    np.testing.assert_allclose(context.advance([21], 1)[0], expected, rtol=1e-4, atol=1e-4)


def test_another_context_of_the_model_can_read_it_if_it_has_room(make: Make, tmp_path: Path) -> None:
    context = make("gemma3")
    context.advance([3] * 300, 0)
    context.save(tmp_path / "memory")
    assert make("gemma3", n_ctx=512).restore(tmp_path / "memory")
    small = make("gemma3", n_ctx=256)
    small.advance(READ, 0)
    assert not small.restore(tmp_path / "memory")
    assert small.length == 0, "half a memory would be worse than none"
    small.advance(READ, 1)


def test_a_memory_that_cannot_be_written_is_an_error_in_one_line(make: Make, tmp_path: Path) -> None:
    context = make("gemma3")
    context.advance(READ, 0)
    with pytest.raises(DecodeError, match="8 tokens cannot be saved"):
        context.save(tmp_path / "missing" / "memory")
