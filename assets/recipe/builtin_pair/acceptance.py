"""How often the draft's proposals are the target's tokens, by the coupled rule (Daliri et al., arXiv 2408.07978).

The target's token is argmax log p + g and the draft's argmax log q + g with the same Gumbel noise g, so the answer does
not depend on the draft, and one pass of the draft over the finished answer tells what it would have proposed at every
position. Rounds are then replayed.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from builtin_pair.results import Acceptance
from builtin_pair.template import END_ID
from specchat_engine.training.model import KeyValueCache, LlamaModel

_DRAFTED = 4
_LIMIT = 160
_TOP_K, _TOP_P, _MIN_P = 40, 0.95, 0.05


@torch.no_grad()
def measure_acceptance(
    target: LlamaModel,
    draft: LlamaModel,
    kind: str,
    prompts: Sequence[Sequence[int]],
    temperature: float,
    seed: int,
) -> Acceptance:
    """Answers each prompt with the target, asks the draft everywhere, and replays rounds of four drafted tokens."""
    device = next(target.parameters()).device
    accepted = rejected = emitted = passes = 0
    for number, prompt in enumerate(prompts):
        generator = torch.Generator().manual_seed(seed * 100_003 + number)
        noise = _gumbel(_LIMIT, target.config.vocab_size, generator)
        answer = _answer(target, prompt, temperature, noise)
        ids = torch.tensor([[*prompt, *answer[:-1]]], device=device)
        positions = torch.arange(ids.shape[1], device=device)[None]
        logits = draft.logits(draft(ids, positions)[0, len(prompt) - 1 :]).float().cpu()
        agreed = [
            _choose(row, temperature, noise[place]) == token
            for place, (row, token) in enumerate(zip(logits, answer, strict=True))
        ]
        right, wrong, rounds = replay(agreed)
        accepted, rejected, passes = accepted + right, rejected + wrong, passes + rounds
        emitted += len(answer)
    return Acceptance(kind, temperature, accepted, rejected, emitted, passes)


def replay(agreed: Sequence[bool]) -> tuple[int, int, int]:
    """Accepted and rejected drafted tokens and target passes, given where in an answer the draft agreed.

    At most as many tokens are drafted as are still to come, minus the target's own.
    """
    place = accepted = rejected = passes = 0
    while place < len(agreed):
        drafted = agreed[place : place + min(_DRAFTED, len(agreed) - place - 1)]
        right = next((index for index, good in enumerate(drafted) if not good), len(drafted))
        accepted += right
        rejected += right < len(drafted)
        passes += 1
        place += right + 1
    return accepted, rejected, passes


def _answer(model: LlamaModel, prompt: Sequence[int], temperature: float, noise: Tensor) -> list[int]:
    """The target's answer under the noise, its end token included."""
    device = next(model.parameters()).device
    cache = KeyValueCache(model.config.layers)
    ids = torch.tensor([list(prompt)], device=device)
    answer: list[int] = []
    start = 0
    while len(answer) < min(_LIMIT, model.config.context - len(prompt)):
        positions = torch.arange(start, start + ids.shape[1], device=device)[None]
        start += ids.shape[1]
        mask = None if len(answer) == 0 else torch.ones(1, 1, 1, start, dtype=torch.bool, device=device)
        hidden = model(ids, positions, mask, cache)
        token = _choose(model.logits(hidden[0, -1]).float().cpu(), temperature, noise[len(answer)])
        answer.append(token)
        if token == END_ID:
            break
        ids = torch.tensor([[token]], device=device)
    return answer


def _choose(logits: Tensor, temperature: float, noise: Tensor) -> int:
    if temperature == 0.0:
        return int(logits.argmax())
    values, ids = logits.topk(_TOP_K)
    probabilities = values.softmax(0)
    kept = (probabilities.cumsum(0) - probabilities < _TOP_P) & (probabilities >= _MIN_P * probabilities[0])
    scores = values[kept] / temperature + noise[ids[kept]]
    return int(ids[kept][scores.argmax()])


def _gumbel(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    return -torch.empty(rows, columns).exponential_(generator=generator).log()
