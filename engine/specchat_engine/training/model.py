"""A llama-architecture transformer in torch with a layout that lets its weights go into a GGUF file unchanged.

RMSNorm, rotary positions, grouped-query attention and SwiGLU as in Touvron et al., "LLaMA", arXiv 2302.13971, and
"Llama 2", arXiv 2307.09288. The rotary pairs are neighbours (0, 1), (2, 3), ..., llama.cpp's "normal" form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The sizes of a model; `heads` must divide `width`, `kv_heads` must divide `heads`.

    `rope_factors` stretch the period of each rotary pair, as Llama 3.1 and later have it; empty for none.
    """

    vocab_size: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    feed_forward: int
    context: int = 1024
    rope_base: float = 10000.0
    norm_eps: float = 1e-5
    rope_factors: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.width % self.heads or self.heads % self.kv_heads or (self.width // self.heads) % 2:
            raise ValueError(
                f"width {self.width}, {self.heads} heads and {self.kv_heads} key/value heads do not fit: choose a "
                "width that is an even multiple of the heads, and heads that are a multiple of the key/value heads"
            )

    @property
    def head_width(self) -> int:
        """Channels of one attention head."""
        return self.width // self.heads

    def rotary(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines for positions [batch, length], as `rotate` takes them."""
        half = self.head_width // 2
        exponents = torch.arange(half, device=positions.device, dtype=torch.float32) / half
        frequencies = self.rope_base**-exponents
        if self.rope_factors:
            frequencies = frequencies / torch.tensor(self.rope_factors, device=positions.device)
        angles = positions[..., None].float() * frequencies
        sines = torch.stack((-angles.sin(), angles.sin()), dim=-1).flatten(-2)
        return angles.cos().repeat_interleave(2, dim=-1)[:, :, None], sines[:, :, None]


class KeyValueCache:
    """Keys and values of the positions seen so far, one pair [batch, kv_heads, length, head_width] for each layer."""

    def __init__(self, layers: int) -> None:
        self._layers: list[tuple[Tensor, Tensor] | None] = [None] * layers

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Appends new positions to a layer and returns all of its keys and values."""
        held = self._layers[layer]
        if held is not None:
            keys = torch.cat((held[0], keys), dim=2)
            values = torch.cat((held[1], values), dim=2)
        self._layers[layer] = (keys, values)
        return keys, values

    def keep_rows(self, rows: Tensor) -> None:
        """Keeps only the given rows of the batch, so that finished answers cost no more time."""
        self._layers = [None if held is None else (held[0][rows], held[1][rows]) for held in self._layers]


class RMSNorm(nn.Module):
    """Root-mean-square normalisation (Zhang and Sennrich, arXiv 1910.07467)."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self._eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """[..., width] to [..., width]."""
        return functional.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self._eps)


def rotate(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotary position embedding (Su et al., arXiv 2104.09864) on neighbouring channel pairs.

    Args:
        x: [batch, length, heads, head_width].
        cosines: [batch, length, 1, head_width], each pair's value twice.
        sines: the same shape, negative in the even channels.
    """
    swapped = x.view(*x.shape[:-1], -1, 2).flip(-1).flatten(-2)
    return x * cosines + swapped * sines


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Grouped-query attention: [batch, heads, length, head_width] for keys and values [batch, kv_heads, keys, ...].

    On a CPU in plain products, which for rows of a few hundred tokens take half the time of torch's fused kernel,
    backward pass included; elsewhere that kernel.

    Args:
        query: [batch, heads, length, head_width].
        key: [batch, kv_heads, keys, head_width].
        value: the same shape.
        mask: [batch, 1, length, keys], true where a token may attend; None means all earlier positions.
    """
    batch, heads, length, width = query.shape
    if query.device.type != "cpu":
        return functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=mask is None, enable_gqa=True
        )
    kv_heads, keys = key.shape[1], key.shape[2]
    if mask is None:
        mask = torch.ones(length, keys, dtype=torch.bool).tril()[None, None]
    grouped = query.reshape(batch, kv_heads, -1, width) * width**-0.5
    scores = (grouped @ key.transpose(-1, -2)).view(batch, kv_heads, -1, length, keys)
    unseen = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill_(~mask, -1e4)
    weights = (scores + unseen[:, :, None]).softmax(-1).to(value.dtype)
    mixed: Tensor = weights.view(batch, kv_heads, -1, keys) @ value
    return mixed.view(batch, heads, length, width)


class GroupedQueryAttention(nn.Module):
    """Grouped-query attention (Ainslie et al., arXiv 2305.13245)."""

    def __init__(self, config: ModelConfig, layer: int, inputs: int | None = None) -> None:
        """`inputs` is the width of what it reads, the model's by default."""
        super().__init__()
        self._config = config
        self._layer = layer
        inputs, shared = inputs or config.width, config.kv_heads * config.head_width
        self.query = nn.Linear(inputs, config.width, bias=False)
        self.key = nn.Linear(inputs, shared, bias=False)
        self.value = nn.Linear(inputs, shared, bias=False)
        self.output = nn.Linear(config.width, config.width, bias=False)

    def project(self, x: Tensor, rotary: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [batch, heads, length, head_width], and keys and values [batch, kv_heads, length, head_width]."""
        head_width = self._config.head_width
        query = rotate(self.query(x).unflatten(-1, (-1, head_width)), *rotary).transpose(1, 2)
        key = rotate(self.key(x).unflatten(-1, (-1, head_width)), *rotary).transpose(1, 2)
        return query, key, self.value(x).unflatten(-1, (-1, head_width)).transpose(1, 2)

    def forward(
        self, x: Tensor, rotary: tuple[Tensor, Tensor], mask: Tensor | None, cache: KeyValueCache | None
    ) -> Tensor:
        """[batch, length, width] to the same shape; `mask` is None for plain causal attention."""
        query, key, value = self.project(x, rotary)
        if cache is not None:
            key, value = cache.extend(self._layer, key, value)
        mixed = attend(query, key, value, mask)
        output: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return output


class FeedForward(nn.Module):
    """SwiGLU (Shazeer, arXiv 2002.05202)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gate = nn.Linear(config.width, config.feed_forward, bias=False)
        self.up = nn.Linear(config.width, config.feed_forward, bias=False)
        self.down = nn.Linear(config.feed_forward, config.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[..., width] to [..., width]."""
        down: Tensor = self.down(functional.silu(self.gate(x)) * self.up(x))
        return down


class DecoderLayer(nn.Module):
    """One layer: attention, then feed-forward, each after a norm and added to the residual stream."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.width, config.norm_eps)
        self.attention = GroupedQueryAttention(config, layer)
        self.feed_forward_norm = RMSNorm(config.width, config.norm_eps)
        self.feed_forward = FeedForward(config)

    def forward(
        self,
        x: Tensor,
        rotary: tuple[Tensor, Tensor],
        mask: Tensor | None,
        cache: KeyValueCache | None,
        wanted: Tensor | None,
    ) -> Tensor:
        """[batch, length, width] to the same shape, or to [wanted, width] if only those positions are needed."""
        x = x + self.attention(self.attention_norm(x), rotary, mask, cache)
        if wanted is not None:
            x = x.flatten(0, 1)[wanted]
        feed: Tensor = self.feed_forward(self.feed_forward_norm(x))
        return x + feed


class TorchLlama(nn.Module):
    """The whole model; the output matrix is the embedding (tied)."""

    def __init__(self, config: ModelConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width)
        self.blocks = nn.ModuleList(DecoderLayer(config, layer) for layer in range(config.layers))
        self.norm = RMSNorm(config.width, config.norm_eps)
        self._initialise(torch.Generator().manual_seed(seed))

    def _initialise(self, generator: torch.Generator) -> None:
        for name, weight in self.named_parameters():
            if name == "embedding.weight":
                nn.init.normal_(weight, std=0.02, generator=generator)
            elif name.endswith(("output.weight", "down.weight")):
                scale = 0.5 / math.sqrt(weight.shape[1] * 2 * self.config.layers)
                nn.init.normal_(weight, std=scale, generator=generator)
            elif weight.dim() == 2:
                nn.init.normal_(weight, std=0.5 / math.sqrt(weight.shape[1]), generator=generator)

    def forward(
        self,
        ids: Tensor,
        positions: Tensor,
        mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
        wanted: Tensor | None = None,
    ) -> Tensor:
        """The normalised hidden states [batch, length, width] of token ids [batch, length].

        Args:
            ids: token ids [batch, length].
            positions: the place of each token in its own document [batch, length].
            mask: [batch, 1, length, keys], true where a token may attend; None means all earlier positions.
            cache: holds earlier positions' keys and values and receives the new ones.
            wanted: indices into batch x length; only these come back, as [wanted, width], and the last layer's
                feed-forward runs for them alone.
        """
        rotary = self.config.rotary(positions)
        x = self.embedding(ids).float()  # the residual stream, whatever the embedding is held in
        last = len(self.blocks) - 1
        for layer, block in enumerate(self.blocks):
            x = block(x, rotary, mask, cache, wanted if layer == last else None)
        hidden: Tensor = self.norm(x)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores [..., vocab_size] of the next token after each hidden state [..., width]."""
        return functional.linear(hidden, self.embedding.weight)
