"""What each layer of a model keeps: keys and values for each token, or a state of fixed size.

It follows llama.cpp's create_memory, llama_kv_cache and llama_memory_recurrent. Check it again when the pinned version
changes.
"""

from __future__ import annotations

from dataclasses import dataclass

from specchat_engine.architectures import architecture_of
from specchat_engine.gguf import GgufHeader


@dataclass(frozen=True, slots=True)
class LayerMemory:
    """How many numbers one layer keeps: keys and values for each token, and a state of fixed size."""

    keys: int
    values: int
    state: int


def has_state(header: GgufHeader) -> bool:
    """Whether part of the model's memory is a state, which cannot simply drop the last tokens."""
    return bool(architecture_of(header.architecture).states)


def layer_memories(header: GgufHeader) -> list[LayerMemory]:
    """What each layer keeps. Prediction layers are included; they keep nothing in a normal context."""
    layers = header.layers
    ends = layers - (header.of_model("nextn_predict_layers") or 0)
    if shared := header.of_model("attention.shared_kv_layers"):
        ends = min(ends, layers - shared)
    states, kv_heads = _state_layers(header), header.kv_heads
    everywhere = architecture_of(header.architecture).states == "beside"
    memories = []
    for layer in range(layers):
        heads = kv_heads[layer] if layer < len(kv_heads) else 0
        keeps = layer < ends and (everywhere or not states[layer])
        keys, values = head_sizes(header, layer)
        latent = bool(header.of_model("attention.key_length_mla"))
        memories.append(
            LayerMemory(
                keys=heads * keys if keeps else 0,
                values=heads * values if keeps and not latent else 0,
                state=_state(header) if states[layer] and layer < layers else 0,
            )
        )
    return memories


def _state_layers(header: GgufHeader) -> list[bool]:
    layers, states = header.layers, architecture_of(header.architecture).states
    if states in ("every", "beside", ""):
        return [bool(states)] * layers
    if marked := header.per_layer("attention.recurrent_layers"):
        return [bool(marked[layer]) if layer < len(marked) else False for layer in range(layers)]
    if states == "interval":
        interval = header.of_model("full_attention_interval") or 4
        return [(layer + 1) % interval != 0 for layer in range(layers)]
    heads = header.kv_heads
    wide = header.per_layer("feed_forward_length") if header.architecture.startswith("nemotron_h") else []
    return [
        layer < len(heads) and not heads[layer] and not (layer < len(wide) and wide[layer]) for layer in range(layers)
    ]


def head_sizes(header: GgufHeader, layer: int) -> tuple[int, int]:
    """Numbers of one head's key and value."""
    heads = header.heads[0] if header.heads else 0
    usual = header.width // heads if heads else 0
    keys = header.of_model("attention.key_length") or usual
    values = header.of_model("attention.value_length") or usual
    if is_sliding(header, layer):
        keys = header.of_model("attention.key_length_swa") or keys
        values = header.of_model("attention.value_length_swa") or values
    return keys, values


def is_sliding(header: GgufHeader, layer: int) -> bool:
    """Whether a layer sees only a window, if the file marks layers one by one."""
    pattern = header.numbers(f"{header.architecture}.attention.sliding_window_pattern")
    return layer < len(pattern) and bool(pattern[layer])


def _state(header: GgufHeader) -> int:
    """Numbers of one layer's state."""
    width = header.width
    if head := header.of_model("wkv.head_size"):
        return (header.of_model("token_shift_count") or 2) * width + width * head
    if length := header.of_model("shortconv.l_cache"):
        return width * (length - 1)
    kernel, inner = header.of_model("ssm.conv_kernel") or 0, header.of_model("ssm.inner_size") or 0
    size, groups = header.of_model("ssm.state_size") or 0, header.of_model("ssm.group_count") or 0
    if head := header.of_model("kda.head_dim"):
        heads = header.heads[0] if header.heads else 0
        return 3 * max(kernel - 1, 0) * heads * head + head * head * heads
    return max(kernel - 1, 0) * (inner + 2 * groups * size) + size * inner
