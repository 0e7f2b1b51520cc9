"""Heads for the finished target, trained on the mix by the code of `specchat train`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from builtin_pair.mixture import Mixture
from builtin_pair.stages import Run
from specchat_engine.threads.processors import read_processors
from specchat_engine.training.packing import Document
from specchat_engine.training.pupils import EaglePupil, MtpPupil, Pupil
from specchat_engine.training.runs import Training
from specchat_engine.training.texts import Tokenizer

_STEPS, _STEP_TOKENS, _BATCH_TOKENS = 250, 8192, 3072
_MINUTES = 90.0
_FEED_FORWARD = 512
_SEED = 3


def train_eagle(run: Run) -> None:
    """An EAGLE-3 head."""
    _train(run, "eagle3", EaglePupil(run.target_file, _FEED_FORWARD, _SEED))


def train_predicting(run: Run) -> None:
    """A copy of the target with a layer for multi-token prediction."""
    folder = run.work / "mtp"
    folder.mkdir(exist_ok=True)
    _train(run, "mtp", MtpPupil(run.target_file, folder, _SEED))


def _train(run: Run, kind: str, pupil: Pupil) -> None:
    out, folder = run.work / f"specchat-guide-{kind}.gguf", run.work / kind
    if out.exists():
        return
    folder.mkdir(exist_ok=True)
    threads = read_processors().usual
    training = Training(pupil, partial(_documents, run), folder, minutes=_MINUTES, threads=threads)
    training.run(out, f"specchat-guide {kind}", "Q8_0", id)


def _documents(run: Run, _: Tokenizer, longest: int) -> Iterator[Document]:
    """Chats that the target was not trained on."""
    mixture = Mixture(run.tokenizer(), run.seed + 4, _STEP_TOKENS, _BATCH_TOKENS)
    for step in range(_STEPS):
        yield from mixture.documents(step, longest)
