"""Tiny files with random weights of any architecture, grown by what llama.cpp says is missing.

A file begins with sizes alone. llama.cpp names the first tensor that it misses, then the shape that it wants, until the
model loads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gguf
import numpy as np

from specchat_engine.errors import ModelFileError
from specchat_engine.llama import model
from specchat_engine.llama.model import LlamaModel
from support.tiny_models import byte_vocabulary, write_vocabulary

WIDTH, LAYERS, CONTEXT = 64, 4, 256

_SIZES: Mapping[str, Any] = {
    "block_count": LAYERS,
    "context_length": CONTEXT,
    "embedding_length": WIDTH,
    "feed_forward_length": 128,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "attention.key_length": 16,
    "attention.value_length": 16,
    "attention.layer_norm_rms_epsilon": 1e-5,
    "attention.layer_norm_epsilon": 1e-5,
    "rope.dimension_count": 16,
    "rope.freq_base": 10000.0,
}

_MISSING = re.compile(r"tensor '([^']+)' not found|missing tensor '([^']+)'")
_SHAPE = re.compile(r"tensor '([^']+)' has wrong shape; expected\s+([\d, ]+), got")
_MOST_TRIES = 1000


def grow(path: Path, architecture: str, more: Mapping[str, Any], tensors: Iterable[str] = ()) -> Path:
    """A model that loads. `more` are further sizes under the architecture's prefix, and `tensors` are those that
    llama.cpp loads without but cannot run without. Raises ModelFileError if it wants something else."""
    _grow(path, architecture, {**_SIZES, **more}, dict.fromkeys(tensors, (1,)), own_head=False)
    return path


def grow_predicting(
    path: Path, architecture: str, more: Mapping[str, Any], tensors: Iterable[str], last: Iterable[str], count: int
) -> Path:
    """Such a model with `count` layers for multi-token prediction, each with the tensors `last`.

    Without its other layers it would count as a file of such layers alone, so those grow first.
    """
    sizes = {**_SIZES, **more}
    shapes = dict.fromkeys(tensors, (1,))
    _grow(path, architecture, sizes, shapes, own_head=False)
    sizes = {
        name: [*value, *[value[-1]] * count] if isinstance(value, list) else value for name, value in sizes.items()
    }
    sizes |= {"block_count": LAYERS + count, "nextn_predict_layers": count}
    shapes |= {f"blk.{LAYERS + place}.{name}.weight": (1,) for place in range(count) for name in last}
    _grow(path, architecture, sizes, shapes, own_head=True)
    return path


def _grow(
    path: Path, architecture: str, sizes: Mapping[str, Any], shapes: dict[str, tuple[int, ...]], *, own_head: bool
) -> None:
    """Gives a layer all tensors of the one before it; where that is too much, those that llama.cpp asks for."""
    for whole_layers in (True, False):
        grown = dict(shapes)
        try:
            _grow_by_messages(path, architecture, sizes, grown, own_head=own_head, whole_layers=whole_layers)
        except ModelFileError as error:
            if not whole_layers or "wrong number of tensors" not in str(error):
                raise
        else:
            shapes.update(grown)
            return


def _grow_by_messages(
    path: Path,
    architecture: str,
    sizes: Mapping[str, Any],
    shapes: dict[str, tuple[int, ...]],
    *,
    own_head: bool,
    whole_layers: bool,
) -> None:
    for _ in range(_MOST_TRIES):
        _write(path, architecture, sizes, shapes)
        try:
            with patch.object(model, "in_huge_pages", nullcontext):
                LlamaModel(path, gpu_layers=0, own_head=own_head).close()
            return
        except ModelFileError as error:
            missing, wrong = _MISSING.search(str(error)), _SHAPE.search(str(error))
            if missing and (name := missing[1] or missing[2]) not in shapes:
                shapes |= _as_in_another_layer(name, shapes, whole=whole_layers)
                continue
            if not wrong:
                raise
            wanted = [int(size) for size in wrong[2].split(",")]
            while len(wanted) > 1 and wanted[-1] == 1:
                wanted.pop()
            if shapes[wrong[1]] == tuple(wanted):
                raise
            shapes[wrong[1]] = tuple(wanted)
    raise ModelFileError(f"{path} does not load after {_MOST_TRIES} tries")


def _as_in_another_layer(
    name: str, shapes: Mapping[str, tuple[int, ...]], *, whole: bool
) -> dict[str, tuple[int, ...]]:
    """A tensor with the shape that it probably has: that of its namesake in the latest layer, else a wrong one.

    With `whole`, all other tensors of that layer too.
    """
    *block, part = name.split(".", 2)
    alike = [other for other in shapes if block and other.split(".", 2)[-1] == part]
    if not alike:
        return {name: (1,)}
    latest, here = (".".join(one.split(".", 2)[:2]) for one in (alike[-1], name))
    layer = {
        f"{here}.{other.split('.', 2)[2]}": shape for other, shape in shapes.items() if other.startswith(f"{latest}.")
    }
    return {name: shapes[alike[-1]]} | (layer if whole else {})


def _write(path: Path, architecture: str, sizes: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(path.stem)
    write_vocabulary(writer, byte_vocabulary())
    for name, value in sizes.items():
        key = f"{architecture}.{name}"
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        else:
            writer.add_array(key, list(value))
    random = np.random.default_rng(1)
    for name, shape in shapes.items():
        whole = shape[::-1]
        if "ssm_a" in name:
            values = -0.1 - 0.2 * random.random(whole)  # a state decays, or it would grow without bounds
        elif len(shape) == 1:
            values = 1 + 0.1 * random.standard_normal(whole)
        else:
            values = random.standard_normal(whole) / np.sqrt(shape[0])
        writer.add_tensor(name, values.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
