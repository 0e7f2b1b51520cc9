"""Describes heads in safetensors files as if they had a GGUF header.

Medusa heads and MLPSpeculators are published in such files. What tensors cannot tell stands in the file's metadata, or
in the config.json beside it.
"""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any, Final

from specchat_engine.errors import HeaderError, ModelFileError
from specchat_engine.gguf.header import TYPES, Header, TensorInfo
from specchat_engine.gguf.values import Value

SUFFIX: Final = ".safetensors"
MARKS: Final = {"medusa": "0.0.linear.weight", "mlp": "speculator.proj.0.weight"}
"""A tensor that each kind of head must have."""

_TYPE_NUMBERS: Final = {name: number for number, (name, *_) in TYPES.items()}
_UNKNOWN: Final = -1
_MOST_TENSORS: Final = 1000


def read_safetensors(path: Path) -> Header:
    """The header of a head. Raises ModelFileError if the file cannot be read, HeaderError for any other model."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            names = sorted(file.keys())
            kind = next((kind for kind, mark in MARKS.items() if mark in names), None)
            if kind is None or len(names) > _MOST_TENSORS:
                raise HeaderError(f"{path} has neither Medusa heads nor an MLPSpeculator: use a GGUF file for a model")
            tensors = tuple(_described(name, file.get_slice(name)) for name in names)
            facts = _facts(path, file.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise ModelFileError(f"{path} cannot be read: {error}; get the file again") from None
    metadata: dict[str, Value] = {"general.architecture": kind, "general.name": path.stem}
    for name in ("n_predict", "scale_input"):
        text = str(facts.get(name, "")).lower()
        if text.isdecimal() and len(text) < 10:
            metadata[f"{kind}.{name}"] = int(text)
        elif text in ("true", "false"):
            metadata[f"{kind}.{name}"] = text == "true"
    return Header(0, "little", 1, metadata, tensors, 0, path.stat().st_size)


def _described(name: str, entry: Any) -> TensorInfo:
    shape, elements = tuple(reversed(entry.get_shape())), prod(entry.get_shape())
    number = _TYPE_NUMBERS.get(entry.get_dtype(), _UNKNOWN)
    return TensorInfo(name, shape, number, 0, elements, elements * TYPES[number][2] if number in TYPES else None)


def _facts(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    beside = path.with_name("config.json")
    if not beside.is_file():
        return dict(metadata)
    try:
        return dict(json.loads(beside.read_text("utf-8"))) | metadata
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{beside} cannot be read: {error}; get the file again") from None
