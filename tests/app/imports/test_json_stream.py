"""Elements of an array, one by one: the same as from reading it whole, in bounded memory, and one line for damage."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from specchat.errors import UnreadableExport
from specchat.imports.json_stream import elements

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Dripping(io.StringIO):
    """A stream that returns a few characters at a time, as a pipe may, so that every place is once a border."""

    def read(self, size: int | None = -1) -> str:
        return super().read(min(size, 3) if size is not None and size > 0 else size)


@given(st.lists(VALUES, max_size=5), st.sampled_from([None, 1]))
def test_the_elements_of_an_array_are_those_that_it_has_and_a_single_object_is_the_only_one(
    values: list[object], indent: int | None
) -> None:
    written = json.dumps(values, indent=indent)
    assert list(elements(io.StringIO(written))) == values
    assert list(elements(Dripping(f"\n {written} \n"))) == values
    single = {"values": values}
    assert list(elements(Dripping(json.dumps(single, indent=indent)))) == [single]


@given(st.text(alphabet='[]{},:"0123456789eE-.truefalsn\\u \n', max_size=60) | st.text(max_size=30))
@example("[1, 2")
@example("[" * 100_000)
@example("9" * 10_000)
def test_any_text_is_read_as_json_reads_it_or_refused_in_one_line(written: str) -> None:
    stream = Dripping(written) if len(written) < 1000 else io.StringIO(written)
    try:
        value = json.loads(written)
    except (ValueError, RecursionError):
        with pytest.raises(UnreadableExport, match=r"\A.*\Z"):
            list(elements(stream))
    else:
        assert repr(list(elements(stream))) == repr(value if isinstance(value, list) else [value])


@pytest.mark.parametrize("written", ["", "[1, 2", "[1 2]", '[{"a": 1}', "[1], 2", "{}{}", "[1,]", "nothing"])
def test_damage_is_named_with_its_place(written: str) -> None:
    with pytest.raises(UnreadableExport, match="it is not valid JSON at character"):
        list(elements(io.StringIO(written)))


def test_the_place_is_counted_from_the_beginning_of_the_file() -> None:
    whole = '{"text": "' + "a" * 600_000 + '"}'
    with pytest.raises(UnreadableExport, match=rf"at character {len(whole) + 3:,}"):
        list(elements(io.StringIO(f"[{whole},]")))


def test_elements_come_before_the_rest_is_read_and_one_that_is_too_long_is_refused_before_it_is_whole() -> None:
    stream = io.StringIO('["' + "a" * 10_000_000 + '"]')
    with pytest.raises(UnreadableExport, match="more than 1,000 characters"):
        list(elements(stream, longest=1000))
    assert stream.tell() < 2_000_000
    stream = io.StringIO("[" + ",".join(['{"text": "' + "a" * 10_000 + '"}'] * 500) + "]")
    next(iter(elements(stream)))
    assert stream.tell() < 1_000_000


def test_bytes_that_are_no_text_are_refused() -> None:
    stream = io.TextIOWrapper(io.BytesIO(b'["\xff\xfe"]'), encoding="utf-8")
    with pytest.raises(UnreadableExport, match="not UTF-8"):
        list(elements(stream))
