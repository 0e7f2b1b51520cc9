"""What a target has to teach: its predictions after each token of a text, and its hidden states there.

The target runs in llama.cpp, so that any file that can be chatted with can teach, with the very numbers that its heads
and drafts will meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.llama.vocabulary import Vocabulary
from specchat_engine.load_options import NORMED, LoadOptions
from specchat_engine.loaded import template_of
from specchat_engine.prompt.template import ChatTemplate
from specchat_engine.stores.recorded_turns import RecordedTurn, likeliest
from specchat_engine.training.packing import TENSORS, PackedBatch, TokenDocument, batches_by_length, pack
from specchat_engine.training.trainer import BatchSource

_ROWS = 512
"""Tokens that one pass reads, and the most rows of logits that it gives."""

_LIKELIEST = 64
"""How many of the target's likeliest tokens are kept after each token."""

_COMPARED = 100
"""Answers with this many equal characters at their ends are the same. Documents that were cut still have them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson(TokenDocument):
    """A document with what its teacher predicts after each token: the likeliest ids and their log-probabilities, both
    [length, kept], and its hidden states [length, width] there. The ids may be -1 where nothing is learned."""

    teacher_ids: NDArray[np.int32]
    teacher_log_probabilities: NDArray[np.float16]
    states: NDArray[np.float16]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaughtBatch(PackedBatch):
    """Packed lessons, with the teacher's arrays [rows, length, ...] at every place."""

    teacher_ids: Tensor
    teacher_log_probabilities: Tensor
    states: Tensor

    def to(self, device: torch.device) -> Self:
        """The same batch on a device."""
        moved = {name: getattr(self, name).to(device) for name in (*TENSORS, *TAUGHT)}
        return type(self)(**moved)


TAUGHT = ("teacher_ids", "teacher_log_probabilities", "states")
"""The arrays of a lesson."""


class Teacher:
    """A loaded target that reads documents; `close` frees it."""

    def __init__(self, target: Path, layers: Sequence[int], *, n_ctx: int, threads: int) -> None:
        """`layers` are those whose inputs make up a hidden state, none for a teacher without states.

        Raises ModelFileError if the file cannot be loaded. The caller must make sure that the architecture hands its
        hidden states out.
        """
        self._model = LlamaModel(target, apart=True)
        self._passes = ThreadPoolExecutor(1)
        options = LoadOptions(batch_size=_ROWS, ubatch_size=_ROWS, flash_attention="off")
        native = NativeContext(self._model, n_ctx=n_ctx, max_rows=_ROWS, threads=threads, options=options)
        self._context = LlamaContext(native)
        self._states = self._context.hand_out(layers) if layers else None
        self._all_rows = NORMED in layers

    @property
    def vocabulary(self) -> Vocabulary:
        """The target's vocabulary."""
        return self._model.vocabulary

    @property
    def template(self) -> ChatTemplate:
        """The target's chat template. Raises TemplateError if it does not parse."""
        return template_of(self._model)

    @property
    def context(self) -> int:
        """The longest document that it can read, in tokens."""
        return self._context.capacity

    def teach(self, document: TokenDocument) -> Lesson:
        """The lesson of a document. Raises DecodeError if it is longer than the context."""
        self._context.keep(())
        ids, length = document.ids, len(document.ids)
        width = min(_LIKELIEST, self.vocabulary.size)
        best, log_p = np.full((length, width), -1, np.int32), np.full((length, width), -20.0, np.float16)
        learned = next((index for index, is_learned in enumerate(document.learned) if is_learned), length)
        first = 0 if self._all_rows else max(0, learned - 1)
        for start in range(0, length, _ROWS):
            end = min(start + _ROWS, length)
            rows = max(0, end - max(start, first))
            logits = self._passes.submit(self._context.advance, ids[start:end], rows).result()
            if rows:
                best[end - rows : end], log_p[end - rows : end] = likeliest(logits, width)
        states = self._states.rows(0, length) if self._states else np.empty((length, 0), np.float32)
        return Lesson(
            ids,
            document.learned,
            document.group,
            teacher_ids=best,
            teacher_log_probabilities=log_p,
            states=states.astype(np.float16),
        )

    def close(self) -> None:
        """Frees the target."""
        self._passes.shutdown()
        self._context.close()
        self._model.close()


class RecordedTeacher:
    """Turns that a target has already been heard in, instead of the target itself.

    `loads_target` says whether the target is in memory too.
    """

    loads_target = False

    def __init__(self, turns: Iterable[RecordedTurn], longest: int) -> None:
        """Of a turn with more than `longest` tokens its end counts."""
        self.lessons: Sequence[TokenDocument] = [_lesson(turn, longest) for turn in turns]

    def teach(self, document: TokenDocument) -> Lesson:
        """The lesson that the document is."""
        assert isinstance(document, Lesson)
        return document

    def close(self) -> None:
        """Nothing: no target was loaded."""


class TeacherOfBoth(RecordedTeacher):
    """Recorded turns, and before them documents that a loaded target teaches when they are drawn."""

    loads_target = True

    def __init__(
        self,
        turns: Iterable[RecordedTurn],
        documents: Callable[[Vocabulary, ChatTemplate, int], Iterable[TokenDocument]],
        teacher: Teacher,
        longest: int,
    ) -> None:
        """`documents` makes them as for a `Training`. Those that repeat a recorded answer are left out, so that the
        turns that are held out are not learned. `close` frees the teacher."""
        super().__init__(turns, longest)
        self._teacher = teacher
        vocabulary = teacher.vocabulary
        recorded = {_end_of_answer(lesson, vocabulary) for lesson in self.lessons}
        candidates = documents(vocabulary, teacher.template, longest)
        new = [document for document in candidates if _end_of_answer(document, vocabulary) not in recorded]
        self.lessons = [*new, *self.lessons]

    def teach(self, document: TokenDocument) -> Lesson:
        """What was recorded, or what the target says."""
        return document if isinstance(document, Lesson) else self._teacher.teach(document)

    def close(self) -> None:
        """Frees the target."""
        self._teacher.close()


def _end_of_answer(document: TokenDocument, vocabulary: Vocabulary) -> str:
    """The last characters that are to be learned: texts may be in other tokens than the model's own."""
    ids = [token for token, learned in zip(document.ids, document.learned, strict=True) if learned]
    return b"".join(map(vocabulary.piece, ids)).decode("utf-8", "replace").strip()[-_COMPARED:]


def _lesson(turn: RecordedTurn, longest: int) -> Lesson:
    """A turn as a lesson: the target's thoughts are known from the last token of the prompt on."""
    length, width = len(turn.ids), turn.best.shape[1]
    best, log_p = np.zeros((length, width), np.int32), np.full((length, width), -20.0, np.float16)
    begin = turn.prompt_length - 1
    best[begin : begin + len(turn.best)], log_p[begin : begin + len(turn.best)] = turn.best, turn.log_p
    learned = [False] * turn.prompt_length + [True] * (length - turn.prompt_length)
    return Lesson(
        turn.ids[-longest:].tolist(),
        learned[-longest:],
        teacher_ids=best[-longest:],
        teacher_log_probabilities=log_p[-longest:],
        states=np.empty((min(length, longest), 0), np.float16),
    )


def pack_lessons(rows: Sequence[Sequence[Lesson]], length: int) -> TaughtBatch:
    """Rows of lessons as one batch, as `pack` makes it. Lessons may have kept different numbers of likeliest tokens."""
    batch = pack(rows, length)
    tensors: dict[str, Tensor] = {}
    for name, empty in zip(TAUGHT, (-1, -20.0, 0.0), strict=True):
        width = max(getattr(lesson, name).shape[1] for lessons in rows for lesson in lessons)
        dense = np.full((len(rows), length, width), empty, np.int64 if name == "teacher_ids" else np.float32)
        for row, lessons in enumerate(rows):
            start = 0
            for lesson in lessons:
                array = getattr(lesson, name)
                dense[row, start : start + len(array), : array.shape[1]] = array
                start += len(array)
        tensors[name] = torch.from_numpy(dense)
    return TaughtBatch(
        batch.ids,
        batch.positions,
        batch.documents,
        batch.targets,
        batch.groups,
        **tensors,
    )


class TaughtLessons(BatchSource):
    """Draws lessons for each step."""

    def __init__(
        self, draw: Callable[[int, float], Sequence[Lesson]], lengths: Sequence[int], batch_tokens: int
    ) -> None:
        """`draw` gives the lessons of a step, from its number and the spent part of the budget. Rows have these
        `lengths`, batches at most about `batch_tokens`."""
        self._draw = draw
        self._lengths = lengths
        self._batch_tokens = batch_tokens
        self.stopped = False

    def batches(self, step: int, progress: float) -> Sequence[PackedBatch]:
        """The lessons of one step."""
        return batches_by_length(self._draw(step, progress), self._lengths, self._batch_tokens, pack_lessons)

    @property
    def finished(self) -> bool:
        """Whether somebody stopped it."""
        return self.stopped
