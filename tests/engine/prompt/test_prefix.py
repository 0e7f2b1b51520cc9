"""What two sequences begin with alike."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.prompt.prefix import common_prefix

TOKENS = st.lists(st.integers(0, 2), max_size=8)


@given(TOKENS, TOKENS)
def test_the_prefix_is_common_and_cannot_be_longer(old: list[int], new: list[int]) -> None:
    length = common_prefix(old, new)
    assert old[:length] == new[:length]
    assert length in (len(old), len(new)) or old[length] != new[length]
