"""Draft models that learn from a target: new ones, and ones that go on learning, with all weights or adapters only."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from specchat_engine.errors import PairError
from specchat_engine.gguf import GgufHeader, read_model
from specchat_engine.training.gguf import Precision, read_gguf, write_draft
from specchat_engine.training.heads import divergence
from specchat_engine.training.lora import adapt, adapted, write_merged
from specchat_engine.training.model import ModelConfig, TorchLlama
from specchat_engine.training.optimizer import matrix_precision
from specchat_engine.training.pupils import LearningPace, Pupil, overlap, taught
from specchat_engine.training.teacher import TaughtBatch
from specchat_engine.training.trainer import Scores, best_device

LARGE = 100_000_000
"""A draft model with more parameters learns through adapters. With all of its weights, training takes 24 bytes for each
of them, so more than 2.4 GB beside the models of a chat."""

RANK = 16


class DraftPupil(Pupil):
    """A small llama model with the target's tokenizer."""

    def __init__(self, target: Path, draft: TorchLlama, pace: LearningPace | None = None) -> None:
        self._draft = draft
        self.target = self.teacher = target
        self.pace = pace or self.pace

    @property
    def model(self) -> TorchLlama:
        """The draft model."""
        return self._draft

    def objective(self, model: nn.Module, batch: TaughtBatch) -> Scores:
        """The divergence of the next token."""
        wanted = batch.wanted
        hidden = self._draft(batch.ids, batch.positions, batch.mask, wanted=wanted)
        logits = self._draft.logits(hidden).float()
        ids, expected = taught(batch, wanted)
        loss = divergence(logits, ids, expected)
        return Scores(loss, logits.argmax(-1) == ids[:, 0], batch.groups.flatten()[wanted])

    @torch.no_grad()
    def overlaps(self, batch: TaughtBatch) -> list[tuple[float, int]]:
        """Of the next token."""
        wanted = batch.wanted
        hidden = self._draft(batch.ids, batch.positions, batch.mask, wanted=wanted)
        return [(overlap(self._draft.logits(hidden), *taught(batch, wanted)), len(wanted))]

    def pass_bytes(self, tokens: int, row: int) -> int:
        """Measured: 8 bytes for each channel of the stream and the feed-forward layer, 6 for each attention score."""
        config = self._draft.config
        return tokens * config.layers * (8 * (config.width + config.feed_forward) + 6 * config.heads * row)

    def write(self, path: Path, name: str, precision: Precision) -> None:
        """A model file with the target's tokenizer and template."""
        write_draft(path, self._draft, self.teacher, name, precision)


class AdaptedPupil(DraftPupil):
    """A draft model of a file that learns through adapters; its own weights are held as the passes multiply them."""

    pace = LearningPace(0.0, 0.003, step_tokens=512, warm_up_steps=10)
    """Measured on drafts of 2 and 26 million parameters: eight times as many steps of 512 tokens gain twice as much as
    steps of 4096 in the same time."""

    def __init__(self, target: Path, file: Path, draft: TorchLlama, rank: int) -> None:
        """`draft` is what the file holds. `rank` is that of the adapters."""
        adapt(draft, rank, seed=1)
        super().__init__(target, draft)
        self.frozen = self._file = file

    def write(self, path: Path, name: str, precision: Precision) -> None:
        """The whole model, the adapters merged."""
        write_merged(path, self._file, adapted(self.model), self.teacher, name, precision)


def draft_pupil(target: Path, share: float, seed: int) -> DraftPupil:
    """A draft model with about this share of the target's parameters."""
    return DraftPupil(target, TorchLlama(draft_config(read_model(target), share), seed))


def draft_from(target: Path, file: Path, rank: int | None = None, pace: LearningPace | None = None) -> DraftPupil:
    """A draft model that begins as the one in a GGUF file.

    `rank` is that of its adapters, 0 to train all weights; without one, large drafts get adapters. `pace` is that of a
    training of all weights. Raises ModelFileError if the file cannot be read, PairError if it cannot be this target's.
    """
    header, wanted = read_model(file), read_model(target).n_vocab
    if rank is None:
        rank = RANK if header.n_params > LARGE else 0
    try:
        draft = read_gguf(file, matrix_precision(best_device()) if rank else torch.float32)
    except ValueError as error:
        raise PairError(f"{error}; name a draft model that `specchat train` made") from None
    if draft.config.vocab_size != wanted:
        raise PairError(f"{file.name} has {draft.config.vocab_size} tokens, the target has {wanted}: name another")
    return AdaptedPupil(target, file, draft, rank) if rank else DraftPupil(target, draft, pace)


def draft_config(header: GgufHeader, share: float) -> ModelConfig:
    """Sizes of a draft model with about this share of the target's parameters: half of them for the embeddings."""
    wanted = share * header.n_params
    width = max(64, round(wanted / 2 / header.n_vocab / 64) * 64)
    feed_forward = 2 * width
    each = 2.5 * width * width + 3 * width * feed_forward
    layers = max(1, round((wanted - width * header.n_vocab) / each))
    heads = width // 64
    return ModelConfig(
        vocab_size=header.n_vocab,
        width=width,
        layers=layers,
        heads=heads,
        kv_heads=heads if heads % 2 else heads // 2,
        feed_forward=feed_forward,
        context=header.n_ctx_train,
    )
