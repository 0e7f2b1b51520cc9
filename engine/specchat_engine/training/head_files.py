"""Writes heads as GGUF files: EAGLE-3 as a file of its own, layers for multi-token prediction inside their target's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import gguf
import torch
from torch import Tensor

from specchat_engine.training.gguf import (
    FILE_TYPES,
    Precision,
    add_sizes,
    add_tensor,
    copy_fields,
    finish,
    read_config,
    tensor_weights,
)
from specchat_engine.training.heads import EagleHead, MtpHead
from specchat_engine.training.model import ModelConfig

_SHARED_NAMES = {
    "attn_output": "attention.output",
    "ffn_norm": "feed_forward_norm",
    "ffn_gate": "feed_forward.gate",
    "ffn_up": "feed_forward.up",
    "ffn_down": "feed_forward.down",
}
_EAGLE_NAMES = {
    "fc": "fuse",
    "output_norm": "norm",
    "blk.0.attn_norm": "token_norm",
    "blk.0.attn_norm_2": "state_norm",
    "blk.0.attn_q": "attention.query",
    "blk.0.attn_k": "attention.key",
    "blk.0.attn_v": "attention.value",
    **{f"blk.0.{written}": held for written, held in _SHARED_NAMES.items()},
}
_MTP_NAMES = {
    "nextn.enorm": "token_norm",
    "nextn.hnorm": "state_norm",
    "nextn.eh_proj": "join",
    "nextn.shared_head_norm": "norm",
    "attn_norm": "attention_norm",
    **_SHARED_NAMES,
}
_NOT_COPIED = frozenset({"attn_q", "attn_k", "attn_v"})


def write_eagle(
    path: Path, head: EagleHead, layers: Sequence[int], target_width: int, name: str, precision: Precision
) -> None:
    """Writes an EAGLE-3 head that shares embeddings with its target, and the output matrix too if it drafts all tokens.

    `layers` are the target's layers whose inputs it reads.
    """
    config = head.config
    writer = gguf.GGUFWriter(path, "eagle3")
    writer.add_name(name)
    writer.add_file_type(FILE_TYPES[precision])
    add_sizes(writer, config, layers=1)
    writer.add_vocab_size(config.vocab_size)
    writer.add_array("eagle3.target_layers", list(layers))
    writer.add_uint32("eagle3.target_hidden_size", target_width)
    writer.add_tokenizer_model("none")
    state = head.state_dict() | {"fuse.weight": head.fused_by.detach()}
    for written, held in _EAGLE_NAMES.items():
        add_tensor(writer, f"{written}.weight", state[f"{held}.weight"], precision)
    if head.vocabulary is not None:
        add_tensor(writer, "output.weight", head.output, precision)
        writer.add_tensor("d2t", head.vocabulary.cpu().numpy())
    finish(writer)


def write_predicting(path: Path, target: Path, heads: Sequence[MtpHead], precision: Precision) -> None:
    """Copies a llama model with tied embeddings into the architecture mimo2, with layers for multi-token prediction.

    The copy computes the same function: rotary pairs move to the halves of each head, the output matrix is written out,
    and the sliding window is as long as the context. Several heads predict one token further each.
    """
    reader = gguf.GGUFReader(target)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    writer = gguf.GGUFWriter(path, "mimo2")
    config = read_config(reader)
    copy_fields(reader, writer, ("general.", "tokenizer."))
    add_sizes(writer, config, layers=config.layers + len(heads))
    writer.add_expert_feed_forward_length(config.feed_forward)
    writer.add_sliding_window(config.context)
    writer.add_array("mimo2.attention.sliding_window_pattern", [True] * (config.layers + len(heads)))
    writer.add_float32("mimo2.rope.freq_base_swa", config.rope_base)
    writer.add_nextn_predict_layers(len(heads))
    for name, tensor in tensors.items():
        if name.removesuffix(".weight").split(".")[-1] not in _NOT_COPIED:
            writer.add_tensor(name, tensor.data, raw_dtype=tensor.tensor_type)
    tied = tensors["token_embd.weight"]
    writer.add_tensor("output.weight", tied.data, raw_dtype=tied.tensor_type)
    for layer in range(config.layers):
        parts = (tensors[f"blk.{layer}.{part}.weight"] for part in ("attn_q", "attn_k", "attn_v"))
        query, key, value = map(tensor_weights, parts)
        add_tensor(writer, f"blk.{layer}.attn_qkv.weight", in_halves(query, key, value, config), precision)
    for index, head in enumerate(heads):
        for written, weight in _mtp_tensors(head):
            add_tensor(writer, f"blk.{config.layers + index}.{written}.weight", weight, precision)
    finish(writer)


def _mtp_tensors(head: MtpHead) -> Iterator[tuple[str, Tensor]]:
    state = head.state_dict()
    for written, held in _MTP_NAMES.items():
        yield written, state[f"{held}.weight"]
    query, key, value = (state[f"attention.{part}.weight"] for part in ("query", "key", "value"))
    yield "attn_qkv", in_halves(query, key, value, head.config)


def in_halves(query: Tensor, key: Tensor, value: Tensor, config: ModelConfig) -> Tensor:
    """One matrix of all three, with the rotary pairs of queries and keys in the halves of each head."""

    def moved(weight: Tensor) -> Tensor:
        return weight.view(-1, config.head_width // 2, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)

    return torch.cat((moved(query), moved(key), value))
