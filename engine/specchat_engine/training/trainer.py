"""A training loop that can be killed at any moment and continues where it was.

Data is a function of the step, so the step is the position in the data and there is no generator state to save.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from specchat_engine.training.optimizer import PairedOptimizer, Schedule, matrix_autocast
from specchat_engine.training.packing import PackedBatch


class BatchSource(ABC):
    """Provides the batches. Unless a subclass says otherwise it never ends and has no state."""

    @abstractmethod
    def batches(self, step: int, progress: float) -> Sequence[PackedBatch]:
        """The batches of one step; `progress` is the spent part of the budget."""

    @property
    def finished(self) -> bool:
        """Whether training should end before the budget is spent."""
        return False

    def observe(self, accuracy: dict[int, float]) -> None:  # noqa: B027 - most sources do not listen
        """Receives the share of a step's learned tokens that were predicted, by group."""

    def state_dict(self) -> dict[str, Any]:
        """The state that the source carries from step to step."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:  # noqa: B027 - most sources have no state
        """Continues from a saved state."""


@dataclass(frozen=True, slots=True)
class Scores:
    """A batch's summed loss and, for each learned position, whether it was predicted and its group."""

    loss: Tensor
    correct: Tensor
    groups: Tensor


Objective = Callable[[Any, Any], Scores]
"""The scores of a model on a batch that suits it."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Training ends at `tokens` tokens, or at `deadline` (seconds since the epoch), whichever is spent first."""

    tokens: int
    deadline: float | None = None

    def progress(self, tokens: int, seconds: float) -> float:
        """The spent part, 0 to 1, after `tokens` tokens and `seconds` of training."""
        spent = tokens / self.tokens
        if self.deadline is not None:
            left = max(0.0, self.deadline - time.time())
            spent = max(spent, seconds / (seconds + left) if seconds + left > 0 else 1.0)
        return min(1.0, spent)


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How a model is trained: peak rates, their schedule, the budget, and the folder of its files."""

    name: str
    folder: Path
    budget: Budget
    schedule: Schedule
    muon_rate: float
    adam_rate: float
    clip: float = 1.0
    save_every_seconds: float = 120.0
    groups: tuple[str, ...] = ("all",)

    @property
    def checkpoint(self) -> Path:
        """The file from which an interrupted run continues."""
        return self.folder / f"{self.name}.pt"


def best_device() -> torch.device:
    """CUDA or Apple's GPU if there is one, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class Trainer:
    """Runs a plan; `model` is trained in place."""

    def __init__(
        self,
        model: nn.Module,
        source: BatchSource,
        objective: Objective,
        plan: TrainingPlan,
        report: Callable[[Mapping[str, Any]], object] = id,
    ) -> None:
        """`report` gets each line of the log."""
        self._device = next(model.parameters()).device
        self._model = model
        self._source = source
        self._objective = objective
        self._report = report
        self._plan = plan
        self._optimizer = PairedOptimizer(model, plan.muon_rate, plan.adam_rate)
        self._step = 0
        self._tokens = 0
        self._seconds = 0.0
        if plan.checkpoint.exists():
            self._load()

    def run(self) -> None:
        """Trains until the budget is spent or the source has finished; saves at intervals and at the end."""
        saved = time.monotonic()
        while not self._source.finished:
            progress = self._plan.budget.progress(self._tokens, self._seconds)
            if progress >= 1.0:
                break
            self._train_step(progress)
            if time.monotonic() - saved > self._plan.save_every_seconds:
                self._save()
                saved = time.monotonic()
        self._save()

    def _train_step(self, progress: float) -> None:
        began = time.monotonic()
        batches = self._source.batches(self._step, progress)
        learned = max(1, sum(len(batch.wanted) for batch in batches))
        total, tokens = 0.0, 0
        correct, groups = [], []
        for batch in batches:
            with matrix_autocast(self._device):
                scores = self._objective(self._model, batch.to(self._device))
            torch.autograd.backward(scores.loss / learned)
            total += scores.loss.item()
            tokens += int((batch.documents > 0).sum())
            correct.append(scores.correct)
            groups.append(scores.groups)
        norm = nn.utils.clip_grad_norm_(self._model.parameters(), self._plan.clip)
        factor = self._plan.schedule.factor(self._step, progress)
        self._optimizer.step(factor)
        accuracy = _by_group(torch.cat(correct), torch.cat(groups))
        self._source.observe(accuracy)
        seconds = time.monotonic() - began
        self._step += 1
        self._tokens += tokens
        self._seconds += seconds
        self._log(
            {
                "plan": self._plan.name,
                "step": self._step,
                "tokens": self._tokens,
                "progress": round(progress, 4),
                "rate": round(factor, 4),
                "loss": round(total / learned, 4),
                "norm": round(float(norm), 3),
                "tokens_per_second": round(tokens / seconds),
                "seconds": round(self._seconds, 3),
                "accuracy": {self._plan.groups[group]: round(share, 3) for group, share in accuracy.items()},
                "source": self._source.state_dict(),
            }
        )

    def _log(self, line: dict[str, Any]) -> None:
        self._report(line)
        with (self._plan.folder / "progress.log").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")

    def _save(self) -> None:
        state = {
            "model": self._model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "source": self._source.state_dict(),
            "step": self._step,
            "tokens": self._tokens,
            "seconds": self._seconds,
        }
        unfinished = self._plan.checkpoint.with_suffix(".unfinished")
        torch.save(state, unfinished)
        unfinished.replace(self._plan.checkpoint)

    def _load(self) -> None:
        state = torch.load(self._plan.checkpoint, map_location=self._device, weights_only=True)
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._source.load_state_dict(state["source"])
        self._step, self._tokens, self._seconds = state["step"], state["tokens"], state["seconds"]


def _by_group(correct: Tensor, groups: Tensor) -> dict[int, float]:
    return {group: correct[groups == group].float().mean().item() for group in set(groups.tolist())}
