"""Files and past chats that a draft model learns online in one go, together with recorded turns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from specchat.cli.train_data import read_data
from specchat.learning import Learned
from specchat.texts import CHATS
from specchat_engine.errors import EngineError
from specchat_engine.threads.processors import read_processors
from specchat_engine.training.documents import documents_of
from specchat_engine.training.runs import LONGEST
from specchat_engine.training.teacher import RecordedTeacher, Teacher, TeacherOfBoth


def teacher_of(target: Path, learned: Learned, data: Sequence[str]) -> RecordedTeacher:
    """What the draft learns from: files, then past chats, then recorded turns, so that the latest turns are held out.

    The target is loaded if there are `data`, names as `--data` takes them. Raises what `read_data` raises, and
    EngineError if the target cannot be loaded.
    """
    turns = learned.recorded.turns()
    if not data:
        return RecordedTeacher(turns, LONGEST)
    texts = read_data(sorted(data, key=lambda name: name == CHATS))
    teacher = Teacher(target, (), n_ctx=LONGEST, threads=read_processors().usual)
    try:
        return TeacherOfBoth(turns, partial(documents_of, texts), teacher, LONGEST)
    except EngineError:
        teacher.close()
        raise
