"""Teaches a draft model with its target's distributions, which are kept on disk so that the target reads a text once.

Distillation: Hinton et al., arXiv 1503.02531; for speculative decoding, with answers of the target's own: Zhou et al.,
"DistillSpec", arXiv 2310.08461.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from specchat_engine.stores.recorded_turns import KEPT
from specchat_engine.training.model import KeyValueCache, LlamaModel
from specchat_engine.training.optimizer import matrix_autocast
from specchat_engine.training.packing import TENSORS, Batch, Document, Teaching
from specchat_engine.training.trainer import Scores, next_token_objective


@torch.no_grad()
def teach(target: LlamaModel, batch: Batch) -> Batch:
    """The batch with the target's KEPT likeliest tokens at each position that has a loss."""
    device = next(target.parameters()).device
    moved = batch.to(device)
    with matrix_autocast(device):
        hidden = target(moved.ids, moved.positions, moved.mask, wanted=moved.wanted)
        logits = target.logits(hidden).float()
    best = logits.log_softmax(-1).topk(KEPT)
    return replace(batch, teaching=Teaching(best.indices.cpu(), best.values.cpu()))


def own_answers(
    target: LlamaModel, documents: Sequence[Document], end_id: int, limit: int, temperature: float, seed: int
) -> list[Document]:
    """The documents with first answers of the target's own, at a temperature and at most `limit` tokens long."""
    prompts = [list(document.ids[: document.learned.index(True)]) for document in documents]
    generator = torch.Generator(next(target.parameters()).device).manual_seed(seed)
    answers = complete(target, prompts, end_id, limit, temperature, generator)
    result = []
    for document, prompt, answer in zip(documents, prompts, answers, strict=True):
        said = answer if len(answer) == limit else [*answer, end_id]
        learned = [False] * len(prompt) + [True] * len(said)
        result.append(Document(prompt + said, learned, document.group))
    return result


def divergence(logits: Tensor, ids: Tensor, taught: Tensor) -> Tensor:
    """The Kullback-Leibler divergence of rows of logits [n, V] from a teacher's, summed over the rows.

    `ids` and `taught`, both [n, kept], are the teacher's likeliest tokens and their log-probabilities. They count one
    by one, and all other tokens together as one. An id of -1 is a token that the rows do not have: it is left out, and
    the smallest divergence is that of the same shares among the others.
    """
    known = ids >= 0
    said = functional.log_softmax(logits, dim=-1).gather(1, ids.clamp(min=0)).masked_fill(~known, -math.inf)
    taught_rest, said_rest = _rest(taught), _rest(said)
    rest = taught_rest * (taught_rest.log() - said_rest.log())
    return (taught.exp() * (taught - said)).masked_fill(~known, 0.0).sum() + rest.sum()


def distillation_objective(model: LlamaModel, batch: Batch) -> Scores:
    """Kullback-Leibler divergence of the draft from the teacher, summed over positions.

    A batch without teaching gives the cross-entropy of its tokens. `correct` says where the draft's best token is the
    teacher's.
    """
    teaching = batch.teaching
    if teaching is None:
        return next_token_objective(model, batch)
    wanted = batch.wanted
    logits = model.logits(model(batch.ids, batch.positions, batch.mask, wanted=wanted)).float()
    loss = divergence(logits, teaching.ids, teaching.log_probabilities.float())
    return Scores(loss, logits.argmax(-1) == teaching.ids[:, 0], batch.groups.flatten()[wanted])


def _rest(log_probabilities: Tensor) -> Tensor:
    return (1 - log_probabilities.exp().sum(-1)).clamp(min=1e-4)


class TeachingStore:
    """Numbered files of taught batches in a folder; a file is whole or not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def __len__(self) -> int:
        return sum(1 for _ in self._folder.glob("[0-9]*.pt"))

    def append(self, batches: Sequence[Batch]) -> None:
        """Adds a file, ids as 16-bit integers and log-probabilities as 16-bit floats."""
        packed = []
        for batch in batches:
            if batch.teaching is None:
                raise ValueError("a batch without teaching cannot be stored: pass it through teach() first")
            entry = {name: getattr(batch, name).to(torch.int16) for name in TENSORS}
            entry["teacher_ids"] = batch.teaching.ids.to(torch.int16)
            entry["teacher_log_probabilities"] = batch.teaching.log_probabilities.half()
            packed.append(entry)
        path = self._folder / f"{len(self):05d}.pt"
        unfinished = path.with_suffix(".unfinished")
        torch.save(packed, unfinished)
        unfinished.replace(path)

    def read(self, index: int) -> Iterator[Batch]:
        """The batches of one file.

        Raises:
            FileNotFoundError: there is no such file.
        """
        for entry in torch.load(self._folder / f"{index:05d}.pt", weights_only=True):
            teaching = Teaching(entry["teacher_ids"].long(), entry["teacher_log_probabilities"].float())
            yield Batch(**{name: entry[name].long() for name in TENSORS}, teaching=teaching)


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
