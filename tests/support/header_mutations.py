"""Thousands of damaged headers made from a seed, and a reference reader that trusts every size."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np

from specchat_engine.gguf import GgufHeader, HeaderError, MoreNeeded, PrefixSource, TextArray, read_header
from specchat_engine.gguf.cursor import MAX_HEADER_BYTES
from support.headers import Bytes

_CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_ODD = (0, 1, 2, 7, 8, 9, 13, 31, 32, 255, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63, 2**64 - 1)


def seeds() -> list[bytes]:
    """Sound headers with all types of values, in both byte orders and both versions."""
    return [_seed(version, order) for version in (2, 3) for order in ("little", "big")]


def _seed(version: int, order: Any) -> bytes:
    writer = Bytes(tensors=3, keys=20, version=version, order=order)
    writer.text(b"general.architecture").numbers("I", 8).text(b"llama")
    writer.text(b"general.alignment").numbers("II", 4, 32)
    writer.text(b"llama.block_count").numbers("II", 4, 2)
    for kind, code in _CODES.items():
        writer.text(b"one.%d" % kind).numbers("I" + code, kind, 1)
    writer.text(b"tokenizer.ggml.tokens").numbers("IIQ", 9, 8, 40)
    for number in range(40):
        writer.text(b"token%d" % number)
    writer.text(b"tokenizer.ggml.scores").numbers("IIQ" + "f" * 40, 9, 6, 40, *range(40))
    writer.text(b"tokenizer.ggml.token_type").numbers("IIQ" + "i" * 40, 9, 5, 40, *range(40))
    writer.text(b"flags").numbers("IIQ???", 9, 7, 3, True, False, True)
    writer.text(b"nested").numbers("IIQ", 9, 9, 2).numbers("IQhh", 3, 2, -5, 6).numbers("IQ", 8, 1).text("é".encode())
    writer.text(b"empty").numbers("IIQ", 9, 12, 0)
    writer.tensor(b"token_embd.weight", [32, 40], 8).tensor(b"blk.0.attn_q.weight", [32, 4], 1, 1376)
    return writer.tensor(b"output_norm.weight", [32], 0, 1632).padded(1760)


def mutate(sound: list[bytes], chance: random.Random) -> bytes:
    """One of the headers, damaged in one to three ways."""
    data = bytearray(chance.choice(sound))
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(data)) if data else 0
        match chance.randrange(7):
            case 0:
                for _ in range(chance.randint(1, 8)):
                    data[place : place + 1] = bytes(
                        [(data[place] if place < len(data) else 0) ^ 1 << chance.randrange(8)]
                    )
            case 1:
                del data[place:]
            case 2 | 3:
                form = chance.choice(["<Q", ">Q", "<I", ">I", "B"])
                number = struct.pack(form, chance.choice(_ODD) % 256 ** struct.calcsize(form))
                data[place : place + len(number)] = number
            case 4:
                other, begin = chance.choice(sound), chance.randrange(1500)
                data[place:place] = other[begin : begin + chance.randint(1, 200)]
            case 5:
                del data[place : place + chance.randint(1, 64)]
            case _:
                data[place : place + chance.randint(0, 16)] = chance.randbytes(chance.randint(0, 16))
    return bytes(data)


def look(data: bytes, *, size_known: bool) -> GgufHeader | None:
    """What the reader returns; None if it rejects the header in one line or asks for more. Other errors propagate."""
    source = PrefixSource(data, len(data) if size_known else None)
    try:
        return read_header(source, "some.gguf")
    except HeaderError as error:
        said = str(error)
        if not said.startswith("some.gguf ") or len(said.splitlines()) != 1:
            raise AssertionError(f"not a one-line message: {said!r}") from error
    except MoreNeeded as more:
        if size_known or not len(data) < more.size <= MAX_HEADER_BYTES:
            raise AssertionError(f"invalid request for more bytes: {more.size} bytes") from more
    return None


def agrees(header: GgufHeader, data: bytes) -> bool:
    """Whether a header equals what the reference reader finds in the bytes."""
    trusting = _Trusting(data, header.byte_order)
    metadata, tensors = trusting.everything()
    found = {key: _plain(value) for key, value in header.metadata.items()}
    theirs = [(one.name, list(one.shape), one.type, one.offset) for one in header.tensors]
    return repr(found) == repr(metadata) and theirs == tensors


def _plain(value: Any) -> Any:
    if isinstance(value, TextArray | tuple):
        return [_plain(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


class _Trusting:
    def __init__(self, data: bytes, order: str) -> None:
        self._data, self._place, self._mark = data, 8, "<" if order == "little" else ">"

    def everything(self) -> tuple[dict[str, Any], list[tuple[str, list[int], int, int]]]:
        tensors, keys = self._next("Q"), self._next("Q")
        metadata = {self._text(): self._value(self._next("I")) for _ in range(keys)}
        return metadata, [
            (self._text(), [self._next("Q") for _ in range(self._next("I"))], self._next("I"), self._next("Q"))
            for _ in range(tensors)
        ]

    def _next(self, code: str) -> Any:
        value = struct.unpack_from(self._mark + code, self._data, self._place)[0]
        self._place += struct.calcsize(self._mark + code)
        return value

    def _text(self) -> str:
        length = self._next("Q")
        self._place += length
        return self._data[self._place - length : self._place].decode("utf-8", "replace")

    def _value(self, kind: int) -> Any:
        if kind == 8:
            return self._text()
        if kind == 9:
            inner, count = self._next("I"), self._next("Q")
            return [self._value(inner) for _ in range(count)]
        return self._next(_CODES[kind])
