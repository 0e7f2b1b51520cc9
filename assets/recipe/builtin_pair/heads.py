"""Heads for the finished target, trained on the mix by the code of `specchat train`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial

from builtin_pair.mixture import Mixture
from builtin_pair.stages import Run
from specchat_engine.llama.vocabulary import Vocabulary
from specchat_engine.prompt.template import ChatTemplate
from specchat_engine.threads.processors import read_processors
from specchat_engine.training.gguf import Precision
from specchat_engine.training.packing import TokenDocument
from specchat_engine.training.pupils import EaglePupil, MtpPupil, Pupil, medusa_pupil, speculator_pupil
from specchat_engine.training.runs import Training

_STEPS, _STEP_TOKENS, _BATCH_TOKENS = 250, 8192, 3072
_LAYER_MINUTES, _STATE_MINUTES = 45.0, 12.0
_FEED_FORWARD, _INNER = 512, 256
_SEED = 3


def train_eagle(run: Run) -> None:
    """An EAGLE-3 head."""
    _train(run, "eagle3.gguf", EaglePupil(run.target_file, _FEED_FORWARD, _SEED), _LAYER_MINUTES, "Q8_0")


def train_predicting(run: Run) -> None:
    """A copy of the target with a layer for multi-token prediction."""
    folder = run.work / "specchat-guide-mtp"
    folder.mkdir(exist_ok=True)
    _train(run, "mtp.gguf", MtpPupil(run.target_file, folder, _SEED), _LAYER_MINUTES, "Q8_0")


def train_medusa(run: Run) -> None:
    """Medusa heads."""
    _train(run, "medusa.safetensors", medusa_pupil(run.target_file), _STATE_MINUTES, "F16")


def train_speculator(run: Run) -> None:
    """An MLPSpeculator."""
    _train(run, "mlp.safetensors", speculator_pupil(run.target_file, _INNER, _SEED), _STATE_MINUTES, "F16")


def _train(run: Run, name: str, pupil: Pupil, minutes: float, precision: Precision) -> None:
    out = run.work / f"specchat-guide-{name}"
    folder = run.work / out.stem
    if out.exists():
        return
    folder.mkdir(exist_ok=True)
    threads = read_processors().usual
    training = Training(pupil, partial(_documents, run), folder, minutes=minutes, threads=threads)
    trained = training.run(out, out.stem, precision, id)
    logging.info("%s: α on held-out chats %s before, %s after", out.name, trained.before, trained.after)


def _documents(run: Run, _: Vocabulary, __: ChatTemplate, longest: int) -> Iterator[TokenDocument]:
    """Chats that the target was not trained on."""
    mixture = Mixture(run.tokenizer(), run.seed + 4, _STEP_TOKENS, _BATCH_TOKENS)
    for step in range(_STEPS):
        for document in mixture.documents(step, longest):
            yield TokenDocument(document.ids, document.learned)
