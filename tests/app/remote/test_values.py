from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from specchat.remote import values

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(ANYTHING)
def test_every_reader_gives_its_own_type_or_nothing(value: object) -> None:
    assert isinstance(values.mapping(value), dict)
    assert isinstance(values.listed(value), list | tuple)
    assert isinstance(values.text(value), str)
    found = values.count(value)
    assert found is None or (type(found) is int and found >= 0)
    several = values.counts(value)
    assert several is None or all(type(one) is int for one in several)
    number = values.number(value)
    assert number is None or math.isfinite(number)
    spent = values.milliseconds(value)
    assert spent is None or spent >= 0


def test_a_switch_is_no_number_and_a_huge_number_is_none() -> None:
    assert values.count(True) is None
    assert values.number(True) is None
    assert values.number(10**400) is None
    assert values.counts([1, -1]) is None


def test_half_a_character_is_replaced() -> None:
    assert values.text("a\ud800b") == "a\ufffdb"
    assert values.text("\U0001f600") == "\U0001f600"
