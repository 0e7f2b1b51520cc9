"""The header that a file of a known model would have, as far as sizes go, before anything of it is downloaded."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from specchat_assets.catalog import Model
from specchat_engine.gguf import Header, TensorInfo
from specchat_engine.gguf.header import FILE_TYPES, TYPES

_NUMBERS: Final = {name: number for number, (name, _, _) in TYPES.items()}
_FILE_NUMBERS: Final = {name: number for number, name in FILE_TYPES.items()}


def outline(model: Model, quantisation: str, bits: float) -> Header:
    """A header with the model's figures, and tensors that have its parameters with `bits` each.

    Memory and reads can be estimated from it as from a real one. It has no vocabulary, only the size of one.
    """
    known = dict(model.header)
    architecture = known.pop("architecture")
    metadata = {f"{architecture}.{key}": _array(value) for key, value in known.items()}
    metadata |= {"general.architecture": architecture, "general.file_type": _FILE_NUMBERS[quantisation]}
    width, layers, vocabulary = (known[key] for key in ("embedding_length", "block_count", "vocab_size"))
    sizes = {"token_embd.weight": vocabulary * width}
    if not model.tied:
        sizes["output.weight"] = vocabulary * width
    if per_layer := known.get("embedding_length_per_layer_input"):
        sizes["per_layer_token_embd.weight"] = vocabulary * layers * per_layer
    experts = 3 * known.get("expert_count", 0) * width * known.get("expert_feed_forward_length", 0)
    others = (round(model.parameters * 1e9) - sum(sizes.values())) // layers - experts
    for layer in range(layers):
        sizes[f"blk.{layer}.weight"] = others
        if experts:
            sizes[f"blk.{layer}.ffn_exps.weight"] = experts
    kind = quantisation.removesuffix("_M").removesuffix("_S")
    tensors = tuple(
        TensorInfo(name, (width, count // width // 8 * 8), _NUMBERS[kind], 0, count, round(count * bits / 8))
        for name, count in sizes.items()
    )
    return Header(3, "little", 32, metadata, tensors, 0, None)


def _array(value: Any) -> Any:
    return np.array(value) if isinstance(value, list) else value
