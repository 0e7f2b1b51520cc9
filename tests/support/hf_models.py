"""The built-in models as folders in the form of transformers, which vLLM loads: weights, configuration, tokenizer.

    python -m support.hf_models MODEL.gguf FOLDER

Needs `gguf` and `tokenizers` (the extra `dev` and `train`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

_SPECIAL = 3
"""The type of control tokens."""

_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}

_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The pre-tokenizer that llama.cpp calls qwen2."""


def convert(source: Path, folder: Path) -> None:
    """Writes a model of the architecture llama, with unquantised weights, as a folder."""
    reader = GGUFReader(source)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    folder.mkdir(parents=True, exist_ok=True)
    weights = dict(_weight(tensor.name, np.array(tensor.data), fields) for tensor in reader.tensors)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    _write(folder / "config.json", _config(fields, tied="lm_head.weight" not in weights))
    end = int(fields["tokenizer.ggml.eos_token_id"])
    _write(folder / "generation_config.json", {"eos_token_id": [end]})
    tokenizer = _tokenizer(fields)
    tokenizer.save(str(folder / "tokenizer.json"))
    tokens = fields["tokenizer.ggml.tokens"]
    _write(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": tokens[fields["tokenizer.ggml.bos_token_id"]],
            "eos_token": tokens[end],
            "pad_token": tokens[fields["tokenizer.ggml.padding_token_id"]],
            "model_max_length": fields["llama.context_length"],
            "clean_up_tokenization_spaces": False,
            "chat_template": fields["tokenizer.chat_template"],
        },
    )


def _weight(name: str, values: NDArray[Any], fields: Mapping[str, Any]) -> tuple[str, NDArray[np.float32]]:
    """A tensor by its name in transformers, where the rows of queries and keys are in another order."""
    *layer, part, kind = name.split(".")
    if part in ("attn_q", "attn_k"):
        heads = fields["llama.attention.head_count" if part == "attn_q" else "llama.attention.head_count_kv"]
        values = unpermuted(values, heads)
    place = f"model.layers.{layer[1]}.{_LAYER[part]}" if layer else _OUTSIDE[part]
    return f"{place}.{kind}", np.ascontiguousarray(values, np.float32)


def unpermuted(values: NDArray[Any], heads: int) -> NDArray[Any]:
    """The rows of each head with its two halves one after the other; llama.cpp has them in pairs."""
    rows, width = values.shape
    return values.reshape(heads, rows // heads // 2, 2, width).swapaxes(1, 2).reshape(rows, width)


def _config(fields: Mapping[str, Any], *, tied: bool) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": fields["llama.embedding_length"],
        "intermediate_size": fields["llama.feed_forward_length"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_attention_heads": fields["llama.attention.head_count"],
        "num_key_value_heads": fields["llama.attention.head_count_kv"],
        "head_dim": fields["llama.rope.dimension_count"],
        "hidden_act": "silu",
        "max_position_embeddings": fields["llama.context_length"],
        "rms_norm_eps": fields["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": fields["llama.rope.freq_base"],
        "vocab_size": fields["llama.vocab_size"],
        "tie_word_embeddings": tied,
        "bos_token_id": int(fields["tokenizer.ggml.bos_token_id"]),
        "eos_token_id": int(fields["tokenizer.ggml.eos_token_id"]),
        "pad_token_id": int(fields["tokenizer.ggml.padding_token_id"]),
        "attention_bias": False,
        "mlp_bias": False,
        "dtype": "float32",
    }


def _tokenizer(fields: Mapping[str, Any]) -> Any:
    tokens, types = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({token: place for place, token in enumerate(tokens)}, merges))
    split = pre_tokenizers.Split(Regex(_QWEN2), "isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, types, strict=True) if kind == _SPECIAL]
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    return tokenizer


def _write(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1))


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
