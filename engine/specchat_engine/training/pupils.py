"""What `specchat train` makes for a target, a head or a draft model: how it learns, and how its file is written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import gguf
import numpy as np
import torch
from torch import Tensor, nn

from specchat_engine.architectures import architecture_of
from specchat_engine.errors import PairError
from specchat_engine.gguf import GgufHeader, read_model
from specchat_engine.load_options import NORMED
from specchat_engine.training.gguf import Precision, read_config, tensor_weights
from specchat_engine.training.head_files import write_eagle, write_predicting
from specchat_engine.training.heads import (
    DRAFTED,
    EagleHead,
    MtpHead,
    TrainableHead,
    drafted_logits,
    drafted_places,
    head_objective,
)
from specchat_engine.training.model import ModelConfig
from specchat_engine.training.state_heads import MedusaHead, SpeculatorHead
from specchat_engine.training.teacher import Lesson, TaughtBatch
from specchat_engine.training.trainer import Scores


@dataclass(frozen=True, slots=True)
class LearningPace:
    """How fast a pupil learns: the peak rates of matrices and of everything else, the tokens of a step, and how many
    steps it takes to warm up."""

    matrix_rate: float
    other_rate: float
    step_tokens: int = 2048
    warm_up_steps: int = 20


FROM_SCRATCH = LearningPace(0.01, 0.002)

_HEAD_VOCABULARY = 8192
"""An EAGLE-3 head of a target with a larger vocabulary drafts the likeliest tokens alone. Scores of all tokens would be
most of its work, in training and while it drafts."""

_LATE = (0.6, 0.8)
"""A head that reads its own output learns to draft one token at first, two and then all from these shares of the time
on: each further token costs as much as the first."""

_SAMPLED, _STRIDE = 512, 16
"""The sizes of states are those of every 16th token of at most 512 lessons."""

KINDS = ("draft", "eagle3", "mtp", "medusa", "mlp")


class Pupil(ABC):
    """A model that learns from a target.

    `target` is its target, `teacher` the file that teaches it, and `layers` are those whose inputs it reads there. In
    training it drafts `drafted` tokens from each place. `frozen` is the file whose weights stay as they are and are not
    in its checkpoints, if there is one.
    """

    target: Path
    teacher: Path
    layers: tuple[int, ...] = ()
    drafted = 1
    pace = FROM_SCRATCH
    frozen: Path | None = None

    @property
    @abstractmethod
    def model(self) -> nn.Module:
        """What is trained."""

    @abstractmethod
    def objective(self, model: nn.Module, batch: TaughtBatch) -> Scores:
        """The loss of a batch."""

    @abstractmethod
    def overlaps(self, batch: TaughtBatch) -> list[tuple[float, int]]:
        """For each drafted token the sum of Σ min(p, q) over places, and the number of places.

        That is how many would be accepted at temperature 1 where all tokens before were.
        """

    def begin(self, lessons: Sequence[Lesson]) -> None:  # noqa: B027 - most pupils are ready
        """Settles what depends on the lessons that were read."""

    def proceed(self, progress: float) -> None:  # noqa: B027 - most pupils learn the same all the time
        """Says how much of the time is spent, 0 to 1, before each step."""

    @property
    def scores(self) -> int:
        """How many tokens it scores at each place."""
        return read_model(self.target).n_vocab * self.drafted

    def pass_bytes(self, tokens: int, row: int) -> int:
        """About how much a pass over rows of this many tokens keeps for its way back, scores of tokens not counted."""
        return 0

    @abstractmethod
    def write(self, path: Path, name: str, precision: Precision) -> None:
        """Writes the file that the engine loads."""


class HeadPupil(Pupil):
    """A head, which learns to draft several tokens."""

    drafted = DRAFTED
    pace = LearningPace(0.01, 0.002, step_tokens=512)

    def __init__(self, head: TrainableHead) -> None:
        self._head = head
        self._drafted = DRAFTED

    @property
    def model(self) -> TrainableHead:
        """The head."""
        return self._head

    def objective(self, model: nn.Module, batch: TaughtBatch) -> Scores:
        """The divergence of several drafted tokens."""
        return head_objective(self._head, batch, self._drafted)

    @torch.no_grad()
    def overlaps(self, batch: TaughtBatch) -> list[tuple[float, int]]:
        """Returns the overlap and the number of positions for each token that is drafted in training."""
        overlaps = []
        outputs = self._head.unrolled(batch.ids, batch.positions, batch.documents, batch.states, DRAFTED)
        for step, hidden in enumerate(outputs):
            begun, places = drafted_places(batch, self._head.first, step)
            ids, expected = taught(batch, places)
            logits = drafted_logits(self._head, hidden, begun)
            overlaps.append((overlap(logits, self._head.own_ids(ids), expected), len(places)))
        return overlaps


class LayerPupil(HeadPupil):
    """A head that reads its own output while it drafts."""

    def proceed(self, progress: float) -> None:
        """Unrolls further in the end."""
        two, all_of_them = _LATE
        self._drafted = 1 if progress < two else 2 if progress < all_of_them else DRAFTED


class EaglePupil(LayerPupil):
    """An EAGLE-3 head that shares its target's embeddings."""

    def __init__(self, target: Path, feed_forward: int, seed: int) -> None:
        """Raises PairError if llama.cpp does not hand out the hidden states of the target."""
        header = read_model(target)
        if not architecture_of(header.architecture).hands_out:
            raise PairError(
                f"{target.name} cannot have an EAGLE-3 head: llama.cpp does not hand out the hidden states of "
                f"{header.architecture}; train a draft model"
            )
        embedding, output = shared_matrices(target)
        self._eagle = EagleHead(head_config(header, feed_forward), embedding, output, header.width, seed)
        super().__init__(self._eagle)
        self.target = self.teacher = target
        self.layers = low_middle_high(header)

    def begin(self, lessons: Sequence[Lesson]) -> None:
        """Learns how large the numbers of states are, and chooses the tokens that it drafts: those to which the teacher
        gives most probability in all."""
        if bool((self._eagle.scale == 1).all()):
            self._eagle.adapt(usual_sizes(lessons))
        size = self._eagle.config.vocab_size
        if size <= 2 * _HEAD_VOCABULARY or self._eagle.vocabulary is not None:
            return
        shares = np.zeros(size)
        for lesson in lessons:
            known = lesson.teacher_ids >= 0
            weights = np.exp(lesson.teacher_log_probabilities[known].astype(np.float32))
            shares += np.bincount(lesson.teacher_ids[known], weights, size)
        self._eagle.draft_only(torch.from_numpy(np.sort(np.argsort(-shares, kind="stable")[:_HEAD_VOCABULARY])))

    @property
    def scores(self) -> int:
        """Those of its own vocabulary."""
        size = self._eagle.config.vocab_size
        return (size if size <= 2 * _HEAD_VOCABULARY else _HEAD_VOCABULARY) * self.drafted

    def write(self, path: Path, name: str, precision: Precision) -> None:
        """A file for `-d`."""
        write_eagle(path, self._eagle, self.layers, self._eagle.config.width, name, precision)


class MtpPupil(LayerPupil):
    """A layer for multi-token prediction inside a copy of a llama model in the architecture mimo2."""

    def __init__(self, target: Path, folder: Path, seed: int) -> None:
        """The copy that teaches goes into the `folder`. Raises PairError for a target of another architecture."""
        header = read_model(target)
        if header.architecture != "llama" or any(tensor.name == "output.weight" for tensor in header.tensors):
            raise PairError(
                f"{target.name} cannot get layers for multi-token prediction: only llama models with tied embeddings "
                "can; train an EAGLE-3 head or a draft model"
            )
        embedding, output = shared_matrices(target)
        self._mtp = MtpHead(replace(read_config(gguf.GGUFReader(target)), layers=1), embedding, output, seed)
        super().__init__(self._mtp)
        self.target, self.teacher, self.layers = target, folder / "teacher.gguf", (header.layers,)
        self.write(self.teacher, header.name or target.stem, "F16")

    def write(self, path: Path, name: str, precision: Precision) -> None:
        """A whole model, the target included."""
        write_predicting(path, self.target, [self._mtp], precision)


class StatePupil(HeadPupil):
    """Medusa heads or an MLPSpeculator: any target can have them, since they read its last state only."""

    layers = (NORMED,)

    def __init__(self, target: Path, head: MedusaHead | SpeculatorHead) -> None:
        super().__init__(head)
        self._state_head = head
        self.target = self.teacher = target

    def write(self, path: Path, name: str, precision: Precision) -> None:
        """A safetensors file for `-d`."""
        self._state_head.write(path, precision)


def medusa_pupil(target: Path) -> StatePupil:
    """Medusa heads that share the target's output matrix."""
    return StatePupil(target, MedusaHead(shared_matrices(target)[1], DRAFTED))


def speculator_pupil(target: Path, inner: int, seed: int) -> StatePupil:
    """An MLPSpeculator with a state of `inner` numbers."""
    header = read_model(target)
    return StatePupil(target, SpeculatorHead(header.n_vocab, header.width, inner, DRAFTED, seed))


def low_middle_high(header: GgufHeader) -> tuple[int, int, int]:
    """The layers that EAGLE-3 reads by default: near the beginning, in the middle, near the end."""
    last = header.layers - 1
    return min(2, last), header.layers // 2, max(last - 2, min(header.layers // 2 + 1, last))


def head_config(header: GgufHeader, feed_forward: int) -> ModelConfig:
    """The sizes of a head of the target's width, with as many attention heads."""
    heads, kv_heads = max(header.heads, default=1), max(header.kv_heads, default=1)
    return ModelConfig(
        vocab_size=header.n_vocab,
        width=header.width,
        layers=1,
        heads=heads,
        kv_heads=kv_heads,
        feed_forward=feed_forward,
        context=header.n_ctx_train,
        rope_base=header.number(f"{header.architecture}.rope.freq_base") or 10_000.0,
    )


def usual_sizes(lessons: Sequence[Lesson]) -> Tensor:
    """The median size of each number of the states [their width], over a sample of the lessons."""
    sample = [lesson.states[index % _STRIDE :: _STRIDE] for index, lesson in enumerate(lessons[:_SAMPLED])]
    return torch.from_numpy(np.median(np.abs(np.concatenate(sample).astype(np.float32)), axis=0))


def shared_matrices(target: Path) -> tuple[Tensor, Tensor]:
    """The target's embeddings and output matrix, both [vocab_size, width]."""
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(target).tensors}
    embedding = tensor_weights(tensors["token_embd.weight"])
    return embedding, tensor_weights(tensors["output.weight"]) if "output.weight" in tensors else embedding


def taught(batch: TaughtBatch, places: Tensor) -> tuple[Tensor, Tensor]:
    """The teacher's likeliest tokens at places of a batch, and their log-probabilities, both [places, kept]."""
    return batch.teacher_ids.flatten(0, 1)[places], batch.teacher_log_probabilities.flatten(0, 1)[places]


def overlap(logits: Tensor, ids: Tensor, expected: Tensor) -> float:
    """Σ min(p, q) over the teacher's likeliest `ids` with their log-probabilities, both [n, kept], summed over rows.

    An id of -1 is a token that the rows [n, V] do not have.
    """
    q = logits.float().softmax(-1).gather(1, ids.clamp(min=0)).masked_fill(ids < 0, 0.0)
    return float(torch.minimum(expected.exp(), q).sum())
