"""`specchat train online`: the draft model in use learns from recorded turns, and from files and past chats that are
named. It is adopted if it got better."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.cli.messages import say
from specchat.cli.train_progress import ProgressLine, stops
from specchat.errors import FAILED, ConfigError
from specchat.learning import Learned, Learning
from specchat.settings.options import ChatOptions
from specchat.texts import CHATS
from specchat_engine.errors import EngineError
from specchat_engine.gguf import read_model
from specchat_engine.threads.processors import read_processors

if TYPE_CHECKING:
    from specchat_engine.training.gguf import Precision
    from specchat_engine.training.teacher import RecordedTeacher

GAIN = 0.005
"""A draft is adopted if α on the latest turns rises by more than this."""

_MATRIX_RATE, _OTHER_RATE = 0.002, 0.0005
"""A fifth of the rates from scratch: the draft is to learn more, not to begin anew. Adapters have their own rate."""

_STEP_TOKENS = 1024
"""A quarter of a step from scratch: on the built-in pair, four times as many steps gain half as much again."""


def learn(options: ChatOptions, minutes: float, data: Sequence[str] = (), rank: int | None = None) -> int:
    """Trains, adopts or not, and says so. Returns the exit code. `data` are names as `--data` takes them.

    `rank` is that of adapters, 0 to train all weights, None to let the size of the draft decide. Raises ConfigError
    without a draft model, SettingError for too little to learn from, EngineError, and what reading the data raises.
    """
    if options.draft is None:
        raise ConfigError("a draft model learns online: name one with -d, or train one with `specchat train draft`")
    learned = Learning().of(options.target, options.draft)
    with learned.training() as alone:
        if not alone:
            say("another process trains this draft: wait for it, or end it")
            return FAILED
        return _learn(options.target, learned, minutes, data, rank)


def _learn(target: Path, learned: Learned, minutes: float, data: Sequence[str], rank: int | None) -> int:
    from specchat_engine.training.draft_pupils import draft_from
    from specchat_engine.training.pupils import LearningPace
    from specchat_engine.training.runs import Training

    begin = learned.current
    pupil = draft_from(target, begin, rank, LearningPace(_MATRIX_RATE, _OTHER_RATE, _STEP_TOKENS))
    folder = learned.folder / "training"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        recorded = teacher_of(target, learned, data)
        training = Training(pupil, lambda *_: (), folder, minutes=minutes, threads=1, recorded=recorded)
        learned.training_begins()
        how = " through adapters" if pupil.frozen else ""
        say(f"{begin.name} learns{how} from {training.tokens:,} tokens on the {training.device.type}")
        line = ProgressLine()
        with stops(training):
            trained = training.run(folder / "new.gguf", learned.base.stem, _precision(begin), line.hear)
        line.clear()
        before, after = trained.before[0], trained.after[0]
        judged = f"α on {'what was held out' if data else 'the latest turns'}: {before:.3f} before, {after:.3f} after"
        if after <= before + GAIN:
            say(f"{judged}: the draft stays as it is")
            return 0
        adopted = learned.adopt(trained.path, before, after)
        use = "is in use from now on" if Learning().is_on else "is used once learning is on: specchat learn on"
        say(f"{judged}: {adopted.file} {use}")
        return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def teacher_of(target: Path, learned: Learned, data: Sequence[str]) -> RecordedTeacher:
    """What the draft learns from: files, then past chats, then recorded turns, so that the latest turns are held out.

    The target is loaded if there are `data`, names as `--data` takes them. Raises what `read_data` raises, and
    EngineError if the target cannot be loaded.
    """
    from specchat.cli.train_data import read_data
    from specchat_engine.training.documents import documents_of
    from specchat_engine.training.runs import LONGEST
    from specchat_engine.training.teacher import RecordedTeacher, Teacher, TeacherOfBoth

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


def _precision(file: Path) -> Precision:
    """The precision of the draft in use, one that loses little where its own cannot be written."""
    name = read_model(file).quantisation
    for known in ("F32", "F16", "BF16"):
        if name == known:
            return known
    return "Q8_0"
