"""What is refused, in one line that says what is wrong and what to do."""

from __future__ import annotations

import tracemalloc

import pytest

from specchat_engine.gguf import HeaderError, read_header
from specchat_engine.gguf.cursor import (
    MAX_DEPTH,
    MAX_HEADER_BYTES,
    MAX_KEYS,
    MAX_NESTED,
    MAX_STRINGS,
    MAX_TENSORS,
    MAX_TEXT_BYTES,
)
from support.headers import Bytes, parse

HUGE = 2**64 - 1


def refusal(data: bytes) -> str:
    with pytest.raises(HeaderError) as caught:
        parse(data)
    message = str(caught.value)
    assert message.splitlines() == [message]
    assert message.startswith("model.gguf ")
    return message


def one_key(key: bytes = b"a.key") -> Bytes:
    return Bytes(keys=1).text(key)


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"", "is not a GGUF file"),
        (b"GGUF", "is truncated: it has 4 bytes"),
        (b"FUGG" + bytes(40), "is not a GGUF file: it starts with b'FUGG'"),
        (Bytes(version=1).bytes, "is GGUF version 1"),
        (Bytes(version=4).bytes, "is GGUF version 4"),
        (Bytes(version=0).bytes, "is GGUF version 0"),
        (Bytes(version=7, order="big").bytes, "is GGUF version"),
        (Bytes(tensors=HUGE).bytes, f"{HUGE} tensors, at most {MAX_TENSORS}"),
        (Bytes(keys=MAX_KEYS + 1).bytes, f"{MAX_KEYS + 1} keys"),
        (Bytes(keys=1).text(b"", HUGE).bytes, "a key has"),
        (Bytes(keys=1).text(b"\xff\xfe").numbers("IB", 0, 1).bytes, "is not UTF-8"),
        (Bytes(keys=1).text(b"").numbers("IB", 0, 1).bytes, "a key is empty"),
        (Bytes(keys=2).text(b"a").numbers("IB", 0, 1).text(b"a").numbers("IB", 0, 1).bytes, "'a' appears twice"),
        (one_key().numbers("I", 13).bytes, "the unknown type 13"),
        (one_key().numbers("IIQ", 9, 13, 1).bytes, "the unknown type 13"),
        (one_key().numbers("I", 8).text(b"", HUGE).bytes, f"at most {MAX_TEXT_BYTES}"),
        (one_key().numbers("IIQ", 9, 4, HUGE).bytes, "is truncated"),
        (one_key().numbers("IIQ", 9, 8, MAX_STRINGS + 1).bytes, f"at most {MAX_STRINGS}"),
        (one_key().numbers("IIQ", 9, 8, 1).text(b"", HUGE).bytes, "is truncated"),
        (one_key().numbers("IIQ", 9, 9, MAX_NESTED + 1).bytes, "arrays in arrays"),
        (one_key().numbers("I", 9).numbers("IQ" * MAX_DEPTH, *[9, 1] * MAX_DEPTH).bytes, "arrays in arrays"),
        (one_key(b"general.alignment").numbers("II", 4, 24).bytes, "its alignment is 24"),
        (one_key(b"general.alignment").numbers("II", 4, 0).bytes, "its alignment is 0"),
        (one_key(b"general.alignment").numbers("IB", 7, 1).bytes, "its alignment is True"),
        (Bytes(tensors=1).tensor(b"x" * 64, [1]).padded(4), "a tensor's name has 64 bytes"),
        (Bytes(tensors=1).tensor(b"\xff", [1]).padded(4), "is not UTF-8"),
        (Bytes(tensors=1).tensor(b"x", [1] * 5).padded(4), "5 dimensions"),
        (Bytes(tensors=1).tensor(b"x", [0]).padded(4), "the shape (0,)"),
        (Bytes(tensors=1).tensor(b"x", [2**32, 2**32]).padded(4), "the shape"),
        (Bytes(tensors=1).tensor(b"x", [1], offset=2**63).padded(4), "the offset"),
        (Bytes(tensors=1).tensor(b"x", [1], offset=8).padded(64), "begins at 8, not a multiple of 32"),
        (Bytes(tensors=1).tensor(b"x", [100], kind=12).padded(640), "not a multiple of Q4_K's 256"),
        (
            Bytes(tensors=1).tensor(b"x", [100]).padded(399),
            "is truncated: it has 463 bytes",
        ),
        (Bytes(tensors=1).tensor(b"x", [2**40, 2**20]).padded(4), "is truncated"),
        (Bytes(tensors=2).tensor(b"x", [1]).tensor(b"x", [1], offset=32).padded(64), "two tensors 'x'"),
        (Bytes(tensors=2).tensor(b"x", [9]).tensor(b"y", [1], offset=32).padded(64), "'x' and 'y' overlap"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_is_an_error_that_names_it(data: bytes, named: str) -> None:
    assert named in refusal(data)


def test_a_header_that_is_cut_anywhere_is_truncated() -> None:
    writer = (
        Bytes(tensors=1, keys=2).text(b"a").numbers("I", 8).text(b"text").text(b"b").numbers("IIQHH", 9, 2, 2, 1, 2)
    )
    whole = writer.tensor(b"x", [4]).padded(16)
    assert len(parse(whole).tensors) == 1
    for length in range(4, len(whole)):
        assert "is truncated" in refusal(whole[:length])


def test_a_tensor_of_an_unknown_type_is_shown_as_such() -> None:
    (tensor,) = parse(Bytes(tensors=1).tensor(b"x", [7], kind=99).padded(1)).tensors
    assert (tensor.type_name, tensor.size, tensor.elements) == ("type 99", None, 7)


def test_a_header_that_never_ends_is_given_up_and_no_more_is_read() -> None:
    class Endless:
        size: int | None = None
        read = 0

        def read_at(self, offset: int, size: int) -> bytes:
            self.read += size
            start = one_key().numbers("IIQ", 9, 0, 2**62).bytes
            return (start + bytes(size))[:size] if not offset else bytes(size)

    source = Endless()
    with pytest.raises(HeaderError, match="goes beyond"):
        read_header(source, "endless.gguf")
    assert source.read <= MAX_HEADER_BYTES


def test_a_bomb_of_claims_takes_no_memory() -> None:
    bombs = [
        one_key().numbers("IIQ", 9, 8, MAX_STRINGS).bytes,
        one_key().numbers("IIQ", 9, 12, 2**60).bytes,
        one_key().numbers("IIQ", 9, 9, MAX_NESTED).bytes,
        Bytes(tensors=MAX_TENSORS, keys=MAX_KEYS).bytes,
    ]
    tracemalloc.start()
    for bomb in bombs:
        refusal(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20
