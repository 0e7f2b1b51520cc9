"""What the reader finds is what the package `gguf` wrote and finds itself."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import given, settings

from specchat_assets import builtin_pair
from specchat_engine import ModelFileError
from specchat_engine.gguf import FileSource, GgufHeader, HeaderError, MoreNeeded, PrefixSource, TextArray, read_header
from support.headers import METADATA, Bytes, Kind, Typed, parse, text_array, write_header


def read(path: Path) -> GgufHeader:
    with path.open("rb") as file:
        return read_header(FileSource(file), str(path))


def plain(value: Any) -> Any:
    """A value in Python's own types."""
    if isinstance(value, TextArray):
        return list(value)
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("big_endian", [False, True])
@given(metadata=METADATA)
@settings(max_examples=30)
def test_all_values_come_back_as_they_were_written(big_endian: bool, metadata: dict[str, Typed]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_header(Path(folder) / "some.gguf", metadata, big_endian=big_endian)
        header = read(path)
        theirs = gguf.GGUFReader(path)
    assert header.byte_order == ("big" if big_endian else "little")
    assert header.architecture == "llama"
    assert {key for key in theirs.fields if not key.startswith("GGUF.")} == set(header.metadata)
    for key, (written, kind, _) in metadata.items():
        found = plain(header.metadata[key])
        assert found == written
        assert type(found) is (list if kind is Kind.ARRAY else type(written))
        assert found == theirs.fields[key].contents()


@pytest.mark.parametrize("alignment", [None, 64, 4096])
def test_tensors_are_found_where_the_package_finds_them(tmp_path: Path, alignment: int | None) -> None:
    random = np.random.default_rng(1)
    tensors = {
        "matrix": random.standard_normal((3, 64)).astype(np.float32),
        "half": random.standard_normal((5, 7, 2)).astype(np.float16),
        "whole": np.arange(10, dtype=np.int8),
    }
    path = write_header(tmp_path / "tensors.gguf", {}, tensors=tensors, alignment=alignment)
    header, theirs = read(path), gguf.GGUFReader(path)
    assert header.data_offset == theirs.data_offset
    for found, tensor in zip(header.tensors, theirs.tensors, strict=True):
        assert (found.name, list(found.shape)) == (tensor.name, tensor.shape.tolist())
        assert (found.type, found.size, found.elements) == (tensor.tensor_type, tensor.n_bytes, tensor.n_elements)
        assert header.data_offset + found.offset == tensor.data_offset


def test_version_2_is_laid_out_like_version_3() -> None:
    data = Bytes(version=2, keys=1).text(b"a.key").numbers("II", 4, 77).bytes
    header = parse(data)
    assert (header.version, header.metadata) == (2, {"a.key": 77})


def test_the_built_in_pair_is_read_as_the_package_reads_it() -> None:
    for path in builtin_pair():
        header, theirs = read(path), gguf.GGUFReader(path)
        assert header.n_params == sum(int(tensor.n_elements) for tensor in theirs.tensors)
        assert sum(header.bytes_per_type.values()) == sum(int(tensor.n_bytes) for tensor in theirs.tensors)
        assert list(header.tokens) == theirs.fields["tokenizer.ggml.tokens"].contents()
        assert header.file_size == path.stat().st_size


@pytest.mark.parametrize("order", ["little", "big"])
def test_arrays_can_be_nested(order: Any) -> None:
    writer = Bytes(keys=1, order=order).text(b"nested").numbers("IIQ", 9, 9, 2)
    writer.numbers("IQhh", 3, 2, -5, 6).numbers("IQ", 8, 1).text("é".encode())
    assert plain(parse(writer.bytes).metadata["nested"]) == [[-5, 6], ["é"]]


def test_empty_arrays_and_texts_are_values() -> None:
    writer = Bytes(keys=3).text(b"a").numbers("IIQ", 9, 8, 0).text(b"b").numbers("IIQ", 9, 4, 0).text(b"c")
    metadata = parse(writer.numbers("I", 8).text(b"").bytes).metadata
    assert {key: plain(value) for key, value in metadata.items()} == {"a": [], "b": [], "c": ""}


def test_a_text_that_is_not_utf_8_is_kept_readable() -> None:
    writer = Bytes(keys=2).text(b"a").numbers("I", 8).text(b"x\xffy").text(b"b").numbers("IIQ", 9, 8, 1).text(b"\xc3")
    metadata = parse(writer.bytes).metadata
    assert metadata["a"] == "x\ufffdy"
    assert plain(metadata["b"]) == ["\ufffd"]


def test_a_reader_of_first_bytes_asks_for_more_only_as_needed(tmp_path: Path) -> None:
    tokens = [f"token{number}" for number in range(60_000)]
    path = write_header(tmp_path / "long.gguf", {"tokens": (tokens, Kind.ARRAY, Kind.STRING)})
    data = path.read_bytes() + bytes(10**8)
    asked: list[int] = []
    have = 0
    while True:
        try:
            header = read_header(PrefixSource(data[:have], len(data)), "far.gguf")
            break
        except MoreNeeded as more:
            asked.append(more.size)
            have = more.size
    assert plain(header.metadata["tokens"]) == tokens
    assert asked == sorted(set(asked))
    assert len(asked) < 8
    assert asked[-1] < 2.2 * header.data_offset


def test_without_a_size_the_end_is_not_known_to_be_the_end() -> None:
    data = Bytes(keys=1).text(b"a.key").bytes
    with pytest.raises(MoreNeeded):
        read_header(PrefixSource(data), "far.gguf")
    with pytest.raises(HeaderError, match="is truncated"):
        read_header(PrefixSource(data, len(data)), "far.gguf")


def test_a_file_that_shrinks_while_it_is_read_is_truncated() -> None:
    class Shrinking:
        size: int | None = 10_000_000

        def read_at(self, offset: int, size: int) -> bytes:
            return Bytes(keys=1).text(b"a.key", 5_000).bytes[offset : offset + size]

    with pytest.raises(HeaderError, match="is truncated"):
        read_header(Shrinking(), "shrinking.gguf")


def test_a_header_error_is_a_model_file_error() -> None:
    assert issubclass(HeaderError, ModelFileError)


@pytest.mark.parametrize("change", [0, 59_999, 30_000])
def test_the_first_different_text_of_two_arrays_is_found(change: int) -> None:
    texts = [f"t{number}" for number in range(60_000)]
    longer, same = [*texts], [*texts]
    longer[change] += "!"
    same[change] = "X" + same[change][1:]
    assert text_array(texts).first_difference(text_array(longer)) == change
    assert text_array(same).first_difference(text_array(texts)) == change
    assert text_array(texts).first_difference(text_array(same, "big")) == change
    assert text_array(texts).first_difference(text_array([*texts, "more"])) is None
    assert text_array(texts).first_difference(text_array(texts, "big")) is None
    assert text_array(texts).first_difference(text_array([])) is None
