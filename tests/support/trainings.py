"""Short trainings on texts of ten words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from specchat_engine.llama.vocabulary import Vocabulary
from specchat_engine.prompt.template import ChatTemplate
from specchat_engine.training.documents import documents_of
from specchat_engine.training.packing import TokenDocument
from specchat_engine.training.pupils import LearningPace, Pupil
from specchat_engine.training.runs import Progress, Trained, Training

TEXTS = 30
_WORDS = ("hello", "there", "again", "tell", "me", "a", "story", "of", "old", "times")


class StepClock:
    """Stands in for the module `time`: each reading takes 30 milliseconds, so that a training of some minutes has
    the same steps on any machine, about eight for each second."""

    def __init__(self) -> None:
        self._now = 0.0

    def time(self) -> float:
        """The time, in seconds."""
        self._now += 0.03
        return self._now

    monotonic = time


def documents(vocabulary: Vocabulary, template: ChatTemplate, longest: int) -> Iterator[TokenDocument]:
    """`TEXTS` texts of random words."""
    random = Random(0)
    texts = [" ".join(random.choice(_WORDS) for _ in range(30)) for _ in range(TEXTS)]
    return documents_of(texts, vocabulary, template, longest)


def train(
    pupil: Pupil,
    folder: Path,
    steps: int,
    *,
    file: str = "out.gguf",
    hear: Callable[[Progress], object] = lambda _: None,
) -> Trained:
    """Some short steps, from where a training in this folder was left. Writes a file into it."""
    pupil.pace = LearningPace(0.01, 0.002, step_tokens=256, warm_up_steps=5)
    training = Training(pupil, documents, folder, minutes=60, threads=1)
    done: list[int] = []

    def follow(progress: Progress) -> None:
        hear(progress)
        done.extend([progress.step] * (progress.step > 0))  # while the target reads there is no step
        if len(done) == steps:
            training.stop()

    return training.run(folder / file, "a pupil", "F32", follow)
