"""Teaches a draft model with its target's distributions, which are kept on disk so that the target reads a text once.

Distillation: Hinton et al., arXiv 1503.02531; for speculative decoding, with answers of the target's own: Zhou et al.,
"DistillSpec", arXiv 2310.08461.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from specchat_engine.stores.recorded_turns import KEPT
from specchat_engine.training.heads import divergence
from specchat_engine.training.model import KeyValueCache, TorchLlama
from specchat_engine.training.optimizer import matrix_autocast
from specchat_engine.training.packing import TENSORS, PackedBatch, TokenDocument
from specchat_engine.training.trainer import Scores


@dataclass(frozen=True, slots=True)
class Teaching:
    """A teacher's predictions at the positions that have a loss: its likeliest tokens' ids and log-probabilities,
    both [wanted, kept]."""

    ids: Tensor
    log_probabilities: Tensor


@dataclass(frozen=True, slots=True)
class TeachingBatch(PackedBatch):
    """A batch with what a teacher says at its positions."""

    teaching: Teaching

    def to(self, device: torch.device) -> TeachingBatch:
        """The same batch on a device."""
        teaching = Teaching(self.teaching.ids.to(device), self.teaching.log_probabilities.to(device))
        moved = {name: getattr(self, name).to(device) for name in TENSORS}
        return TeachingBatch(**moved, teaching=teaching)


@torch.no_grad()
def teach(target: TorchLlama, batch: PackedBatch) -> TeachingBatch:
    """The batch with the target's KEPT likeliest tokens at each position that has a loss."""
    device = next(target.parameters()).device
    moved = batch.to(device)
    with matrix_autocast(device):
        hidden = target(moved.ids, moved.positions, moved.mask, wanted=moved.wanted)
        logits = target.logits(hidden).float()
    best = logits.log_softmax(-1).topk(KEPT)
    tensors = {name: getattr(batch, name) for name in TENSORS}
    return TeachingBatch(**tensors, teaching=Teaching(best.indices.cpu(), best.values.cpu()))


def own_answers(
    target: TorchLlama, documents: Sequence[TokenDocument], end_id: int, limit: int, temperature: float, seed: int
) -> list[TokenDocument]:
    """The documents with first answers of the target's own, at a temperature and at most `limit` tokens long."""
    prompts = [list(document.ids[: document.learned.index(True)]) for document in documents]
    generator = torch.Generator(next(target.parameters()).device).manual_seed(seed)
    answers = complete(target, prompts, end_id, limit, temperature, generator)
    result = []
    for document, prompt, answer in zip(documents, prompts, answers, strict=True):
        said = answer if len(answer) == limit else [*answer, end_id]
        learned = [False] * len(prompt) + [True] * len(said)
        result.append(TokenDocument(prompt + said, learned, document.group))
    return result


def distillation_objective(model: TorchLlama, batch: PackedBatch) -> Scores:
    """Kullback-Leibler divergence of the draft from the teacher, summed over positions.

    A batch without teaching gives the cross-entropy of its tokens. `correct` says where the draft's best token is the
    teacher's.
    """
    if not isinstance(batch, TeachingBatch):
        return next_token_objective(model, batch)
    teaching, wanted = batch.teaching, batch.wanted
    logits = model.logits(model(batch.ids, batch.positions, batch.mask, wanted=wanted)).float()
    loss = divergence(logits, teaching.ids, teaching.log_probabilities.float())
    return Scores(loss, logits.argmax(-1) == teaching.ids[:, 0], batch.groups.flatten()[wanted])


def next_token_objective(model: TorchLlama, batch: PackedBatch) -> Scores:
    """Cross-entropy of the learned tokens, summed; logits are computed at their positions only."""
    wanted = batch.wanted
    logits = model.logits(model(batch.ids, batch.positions, batch.mask, wanted=wanted)).float()
    targets = batch.targets.flatten()[wanted]
    loss = functional.cross_entropy(logits, targets, reduction="sum")
    return Scores(loss, logits.argmax(-1) == targets, batch.groups.flatten()[wanted])


class TeachingStore:
    """Numbered files of taught batches in a folder; a file is whole or not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def __len__(self) -> int:
        return sum(1 for _ in self._folder.glob("[0-9]*.pt"))

    def append(self, batches: Sequence[TeachingBatch]) -> None:
        """Adds a file, ids as 16-bit integers and log-probabilities as 16-bit floats."""
        packed = []
        for batch in batches:
            entry = {name: getattr(batch, name).to(torch.int16) for name in TENSORS}
            entry["teacher_ids"] = batch.teaching.ids.to(torch.int16)
            entry["teacher_log_probabilities"] = batch.teaching.log_probabilities.half()
            packed.append(entry)
        path = self._folder / f"{len(self):05d}.pt"
        unfinished = path.with_suffix(".unfinished")
        torch.save(packed, unfinished)
        unfinished.replace(path)

    def read(self, index: int) -> Iterator[TeachingBatch]:
        """The batches of one file.

        Raises:
            FileNotFoundError: there is no such file.
        """
        for entry in torch.load(self._folder / f"{index:05d}.pt", weights_only=True):
            teaching = Teaching(entry["teacher_ids"].long(), entry["teacher_log_probabilities"].float())
            yield TeachingBatch(**{name: entry[name].long() for name in TENSORS}, teaching=teaching)


@torch.no_grad()
def complete(
    model: TorchLlama,
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
