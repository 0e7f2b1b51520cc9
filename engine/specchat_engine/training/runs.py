"""One training from documents to a file: taught by the target, watched on held-out documents, resumable."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from random import Random
from typing import Any

import torch
from torch import Tensor, nn

from specchat_engine.errors import SettingError
from specchat_engine.gguf import read_model
from specchat_engine.llama.machine import this_machine
from specchat_engine.llama.vocabulary import Vocabulary
from specchat_engine.prompt.template import ChatTemplate
from specchat_engine.training.gguf import Precision
from specchat_engine.training.optimizer import Schedule, matrix_autocast
from specchat_engine.training.packing import TokenDocument, batches_by_length
from specchat_engine.training.pupils import Pupil
from specchat_engine.training.readings import Readings
from specchat_engine.training.teacher import (
    Lesson,
    RecordedTeacher,
    TaughtBatch,
    TaughtLessons,
    Teacher,
    pack_lessons,
)
from specchat_engine.training.trainer import Budget, Trainer, TrainingPlan, best_device

_HELD_OUT_SHARE, _MOST_HELD_OUT = 0.05, 48
_LENGTHS = (128, 256, 512, 1024)
_BATCH_TOKENS = 1024
LONGEST = _LENGTHS[-2]
"""The tokens of a document at most."""

_LOOK_SECONDS, _LOOK_PAUSE = 30.0, 5.0
"""α is measured every 30 seconds, but so that the measuring of a large model takes no more than a sixth of the time."""

_FEWEST_TOKENS = 20_000
FEWEST_RECORDED = 4_000
"""Recorded turns must have this many tokens."""

_READING_SHARE = 0.35
"""Reading takes at most this part of the time; documents that were not read by then are not learned."""

_LATEST_SHARE = 0.15
_FLOAT = 4


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a training is: the spent share of its time, 0 to 1, the loss, and α on held-out documents.

    `alphas` has a value for each drafted token: how likely it is accepted at temperature 1 if those before it were.
    While the target reads, `step` is 0 and `tokens` is what it has read.
    """

    share: float
    step: int
    seconds: float
    tokens: int
    loss: float | None
    alphas: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Trained:
    """What came of a training: α on held-out documents before the first step and in the end."""

    path: Path
    before: tuple[float, ...]
    after: tuple[float, ...]


class Training:
    """Trains a pupil on `tokens` tokens of text, which the target reads once; each is learned as often as time allows.

    `stop`, from any thread or a signal handler, ends it after the running step.
    """

    def __init__(
        self,
        pupil: Pupil,
        documents: Callable[[Vocabulary, ChatTemplate, int], Iterable[TokenDocument]],
        folder: Path,
        *,
        minutes: float,
        threads: int,
        seed: int = 1,
        begin: Path | None = None,
        recorded: RecordedTeacher | None = None,
    ) -> None:
        """`documents` makes them from the target's vocabulary and template, and the most tokens that each may have.

        With `recorded` it learns from these lessons instead, and the last ones are held out. Then the target takes
        memory only if `recorded` loads it. `recorded` is closed after the training, and also if this raises.
        Checkpoints and the target's readings go into the `folder`. `begin` is the folder of an earlier training whose
        weights to start from. Raises SettingError if memory or text is too little, if the folder has the checkpoints of
        another training, and if `begin` has none of the same sizes.
        """
        self._pupil = pupil
        self._minutes = minutes
        self._seed = seed
        self._folder = folder
        self._teacher: Teacher | RecordedTeacher
        data: list[TokenDocument] = []
        with ExitStack() as to_close:
            if recorded:
                to_close.callback(recorded.close)
            self.needs = needed_bytes(pupil, with_target=recorded is None or recorded.loads_target)
            self.device = best_device()
            free = free_bytes(self.device)
            if free and self.needs > free:
                raise SettingError(
                    f"training takes about {self.needs / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free: use a "
                    "smaller target or a smaller draft"
                )
            if begin:
                _load(pupil.model, begin)
            pupil.model.to(self.device)
            _claim(folder, pupil)
            if recorded:
                self._teacher, data = recorded, [*recorded.lessons]
            else:
                self._teacher = teacher = Teacher(pupil.teacher, pupil.layers, n_ctx=_LENGTHS[-1], threads=threads)
                to_close.callback(teacher.close)
                data = [*documents(teacher.vocabulary, teacher.template, LONGEST)]
            self.tokens = sum(len(document.ids) for document in data)
            fewest = FEWEST_RECORDED if recorded else _FEWEST_TOKENS
            if self.tokens < fewest or len(data) < 2:
                raise SettingError(f"the data has {self.tokens:,} tokens: give at least {fewest:,}")
            to_close.pop_all()
        if not recorded:
            Random(seed).shuffle(data)
        share = _LATEST_SHARE if recorded else _HELD_OUT_SHARE
        held_out = max(1, min(_MOST_HELD_OUT, round(share * len(data))))
        self._data, self._num_held_out = data, held_out
        self._learned: list[Lesson] = []
        self._held_out: list[Lesson] = []
        self._source = TaughtLessons(self._draw, _LENGTHS, _BATCH_TOKENS)
        self._best: tuple[float, dict[str, Tensor]] = (-1.0, {})
        self._next_look = self._deadline = 0.0
        self._alphas: tuple[float, ...] = ()
        self._best_alphas: tuple[float, ...] = ()
        self._hear: Callable[[Progress], object] = id

    def stop(self) -> None:
        """Ends the training; the best state so far is kept."""
        self._source.stopped = True

    def run(self, out: Path, name: str, precision: Precision, hear: Callable[[Progress], object]) -> Trained:
        """Reads and trains until the time is spent, and writes the best state. `hear` gets the progress after each
        step and each document that was read."""
        self._hear, pace = hear, self._pupil.pace
        self._deadline = deadline = time.time() + 60 * self._minutes
        try:
            self._read()
        finally:
            self._teacher.close()
        self._pupil.begin(self._learned)
        before = self._look()
        plan = TrainingPlan(
            "training",
            self._folder,
            Budget(tokens=2**62, deadline=deadline),
            Schedule(pace.warm_up_steps, decay_from=0.3),
            pace.matrix_rate,
            pace.other_rate,
            save_every_seconds=60.0,
        )
        Trainer(self._pupil.model, self._source, self._pupil.objective, plan, self._report_progress).run()
        self._look()
        self._pupil.model.load_state_dict(self._best[1])
        self._pupil.model.to("cpu")
        unfinished = out.with_suffix(".unfinished")
        self._pupil.write(unfinished, name, precision)
        unfinished.replace(out)
        return Trained(out, before, self._best_alphas)

    @property
    def _spent(self) -> float:
        """The spent share of the time."""
        return min(1.0, 1 - (self._deadline - time.time()) / (60 * self._minutes))

    def _read(self) -> None:
        """Has the target read the documents, those that are held out first."""
        unread = [document for document in reversed(self._data) if not isinstance(document, Lesson)]
        readings = Readings(self._folder, unread, f"{self._pupil.teacher.resolve()} {self._pupil.layers}")
        began, seconds, fewest = time.monotonic(), 60 * self._minutes * _READING_SHARE, self._num_held_out

        def goes_on() -> bool:
            spent = time.monotonic() - began
            self._hear(Progress(self._spent, 0, max(spent, 1e-9), readings.tokens, None, ()))
            return readings.count <= fewest or (spent < seconds and not self._source.stopped)

        readings.read(self._teacher.teach, goes_on)
        lessons = iter(readings.lessons())
        taught = [
            document if isinstance(document, Lesson) else next(lessons, None) for document in reversed(self._data)
        ]
        self._held_out = [lesson for lesson in taught[: self._num_held_out] if lesson]
        self._learned = [lesson for lesson in taught[self._num_held_out :] if lesson]

    def _draw(self, step: int, progress: float) -> list[Lesson]:
        """The lessons of a step: a function of its number, so that a training can go on where it was."""
        self._pupil.proceed(progress)
        random, drawn, tokens = Random(f"{self._seed} {step}"), list[Lesson](), 0
        while tokens < self._pupil.pace.step_tokens:
            drawn.append(random.choice(self._learned))
            tokens += len(drawn[-1].ids)
        return drawn

    def _report_progress(self, line: Mapping[str, Any]) -> None:
        if time.monotonic() > self._next_look:
            self._look()
        progress = Progress(self._spent, line["step"], line["seconds"], line["tokens"], line["loss"], self._alphas)
        self._hear(progress)

    def _look(self) -> tuple[float, ...]:
        """Measures α on the held-out documents, and keeps the state if it is the best so far."""
        began = time.monotonic()
        sums: list[list[float]] = []
        model = self._pupil.model
        for batch in batches_by_length(self._held_out, _LENGTHS, _BATCH_TOKENS, pack_lessons):
            assert isinstance(batch, TaughtBatch)
            device = next(model.parameters()).device
            with matrix_autocast(device):
                sums.append([part for pair in self._pupil.overlaps(batch.to(device)) for part in pair])
        totals = [sum(column) for column in zip(*sums, strict=True)]
        self._alphas = tuple(total / max(count, 1) for total, count in zip(totals[::2], totals[1::2], strict=True))
        ended = time.monotonic()
        self._next_look = ended + max(_LOOK_SECONDS, _LOOK_PAUSE * (ended - began))
        score = sum(self._alphas)
        if score > self._best[0]:
            state = {name: weight.detach().clone() for name, weight in model.state_dict().items()}
            self._best, self._best_alphas = (score, state), self._alphas
        return self._alphas


def needed_bytes(pupil: Pupil, *, with_target: bool = True) -> int:
    """About how much memory a training takes: the target if it teaches, the pupil, gradients and moments of what is
    trained of it, what a pass keeps for its way back, and the scores of a batch with theirs."""
    model, header = pupil.model, read_model(pupil.target)
    learned = sum(weight.numel() for weight in model.parameters())
    frozen = sum(weight.numel() * weight.element_size() for weight in model.buffers())
    scores = _BATCH_TOKENS * pupil.scores
    target = sum(tensor.size or 0 for tensor in header.tensors) if with_target else 0
    passes = pupil.pass_bytes(min(_BATCH_TOKENS, pupil.pace.step_tokens + LONGEST), LONGEST)
    return target + frozen + passes + _FLOAT * (6 * learned + 3 * scores)


def free_bytes(device: torch.device) -> int:
    """The memory that is free on a device, 0 if that is not known."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return this_machine().host.free


def _load(model: nn.Module, folder: Path) -> None:
    """Starts from the weights of another training. Raises SettingError if it has none that fit."""
    file = folder / "training.pt"
    try:
        model.load_state_dict(torch.load(file, map_location="cpu", weights_only=True)["model"])
    except (OSError, RuntimeError, KeyError, TypeError, ValueError, UnpicklingError, EOFError):
        raise SettingError(
            f"{folder} cannot be started from: it needs a {file.name} of the same kind and sizes; name the folder "
            "NAME.training of an earlier training"
        ) from None


def _claim(folder: Path, pupil: Pupil) -> None:
    """Notes in a folder whose checkpoints it has. Raises SettingError if they are another training's."""
    sizes = {name: [*weight.shape] for name, weight in pupil.model.state_dict().items()}
    claim = {"target": str(pupil.target.resolve()), "layers": pupil.layers, "sizes": sizes}
    if pupil.frozen:
        stat = pupil.frozen.stat()
        claim["frozen"] = [str(pupil.frozen.resolve()), stat.st_size, stat.st_mtime_ns]
    whose = json.dumps(claim)
    file = folder / "training.json"
    if file.exists() and file.read_text("utf-8") != whose:
        raise SettingError(f"{folder} has the checkpoints of another training: delete it, or choose another output")
    file.write_text(whose, "utf-8")
