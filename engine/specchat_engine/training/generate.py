"""Answers from a torch model, many prompts at a time."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from specchat_engine.training.model import KeyValueCache, LlamaModel


@torch.no_grad()
def complete(
    model: LlamaModel,
    prompts: Sequence[Sequence[int]],
    end_id: int,
    limit: int,
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> list[list[int]]:
    """Each prompt's continuation, without the end token, at most `limit` tokens and never past the model's context.

    Prompts of different lengths are padded on the left. At temperature 0 the likeliest token is taken, above it a
    token is drawn from the whole distribution with `generator`.
    """
    if not prompts:
        return []
    device = next(model.parameters()).device
    longest = max(len(prompt) for prompt in prompts)
    padding = torch.tensor([longest - len(prompt) for prompt in prompts], device=device)
    ids = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts], device=device)
    rows = torch.arange(len(prompts), device=device)
    answers: list[list[int]] = [[] for _ in prompts]
    cache = KeyValueCache(model.config.layers)
    start = 0
    for _ in range(min(limit, model.config.context - longest)):
        end = start + ids.shape[1]
        positions = (torch.arange(start, end, device=device)[None] - padding[:, None]).clamp(min=0)
        hidden = model(ids, positions, _mask(padding, start, end), cache)
        chosen = _choose(model.logits(hidden[:, -1]).float(), temperature, generator)
        going = chosen != end_id
        if not bool(going.all()):
            chosen, rows, padding = chosen[going], rows[going], padding[going]
            cache.keep_rows(going)
        if not len(rows):
            break
        for row, token in zip(rows.tolist(), chosen.tolist(), strict=True):
            answers[row].append(token)
        ids = chosen[:, None]
        start = end
    return answers


def _mask(padding: Tensor, start: int, end: int) -> Tensor:
    """[rows, 1, end - start, end]: earlier positions that are no padding, and always the own one."""
    keys = torch.arange(end, device=padding.device)
    queries = torch.arange(start, end, device=padding.device)[:, None]
    real = keys[None, None] >= padding[:, None, None]
    return (((keys <= queries) & real) | (keys == queries))[:, None]


def _choose(logits: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
    if temperature == 0.0:
        return logits.argmax(-1)
    return torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator)[:, 0]
