"""A training from texts to a file that drafts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from specchat_engine import Engine, LoadOptions, PairError, SettingError, Settings
from specchat_engine.gguf import read_model
from specchat_engine.stores.recorded_turns import KEPT, RecordedTurn
from specchat_engine.training import runs
from specchat_engine.training.documents import documents_of
from specchat_engine.training.draft_pupils import draft_config, draft_pupil
from specchat_engine.training.packing import TokenDocument
from specchat_engine.training.pupils import KINDS, EaglePupil, MtpPupil, Pupil, medusa_pupil, speculator_pupil
from specchat_engine.training.runs import LONGEST, Progress, Training
from specchat_engine.training.teacher import Lesson, RecordedTeacher, Teacher, TeacherOfBoth
from support.trainings import TEXTS, documents, train


def pupil_of(kind: str, target: Path, folder: Path) -> Pupil:
    makers: dict[str, Callable[[], Pupil]] = {
        "draft": lambda: draft_pupil(target, 0.5, seed=1),
        "eagle3": lambda: EaglePupil(target, feed_forward=64, seed=1),
        "mtp": lambda: MtpPupil(target, folder, seed=1),
        "medusa": lambda: medusa_pupil(target),
        "mlp": lambda: speculator_pupil(target, inner=48, seed=1),
    }
    return makers[kind]()


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_trained_beats_its_beginning_and_drafts(kind: str, target: Path, tmp_path: Path) -> None:
    heard: list[Progress] = []
    steps = 150 if kind == "medusa" else 50  # it has to unlearn the target's own prediction first
    file = f"out.{'safetensors' if kind in ('medusa', 'mlp') else 'gguf'}"
    trained = train(pupil_of(kind, target, tmp_path), tmp_path, steps, file=file, hear=heard.append)
    assert trained.after[0] > trained.before[0] + 0.1
    assert len(trained.after) == (1 if kind == "draft" else 4)
    assert heard[-1].share > heard[0].share
    pair = (trained.path, "mtp") if kind == "mtp" else (target, trained.path)
    with Engine.load(*pair, LoadOptions(threads=1)) as engine:
        drafter = engine.drafters[1]
        session = engine.session(settings=Settings(k=2, drafter=drafter, max_tokens=60), seed=1)
        for _ in session.generate("hello there"):
            pass
        assert session.stats.num_draft_tokens > 0


def test_a_training_that_is_stopped_keeps_the_best_so_far_and_goes_on_later_without_reading_again(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    read: list[TokenDocument] = []
    teach = Teacher.teach

    def noted(self: Teacher, document: TokenDocument) -> Lesson:
        read.append(document)
        return teach(self, document)

    monkeypatch.setattr(Teacher, "teach", noted)
    for more, file in ((3, "one.gguf"), (1, "two.gguf")):
        train(EaglePupil(target, 64, 1), tmp_path, more, file=file, hear=lambda progress: steps.append(progress.step))
        assert (tmp_path / file).exists()
    assert [step for step in steps if step] == [1, 2, 3, 4]
    assert len(read) == TEXTS


def test_a_head_of_a_large_vocabulary_drafts_its_likeliest_tokens(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat_engine.training.pupils._HEAD_VOCABULARY", 100)
    pupil = EaglePupil(target, 64, 1)
    train(pupil, tmp_path, 1)
    kept = pupil.model.vocabulary
    assert kept is not None
    assert len(kept) == 100
    with Engine.load(target, tmp_path / "out.gguf", LoadOptions(threads=1)) as engine:
        session = engine.session(settings=Settings(k=2, drafter="eagle3", max_tokens=40), seed=1)
        drafted = {token.id for made in session.generate("hello there") for token in made.drafted}
    assert drafted
    assert drafted <= set(kept.tolist())


def test_texts_that_there_is_no_time_to_read_are_left_out(target: Path, tmp_path: Path) -> None:
    training = Training(EaglePupil(target, 64, 1), documents, tmp_path, minutes=1e-5, threads=1)
    read: list[int] = []
    training.run(tmp_path / "out.gguf", "a head", "F16", lambda progress: read.append(progress.tokens))
    assert 0 < max(read) < training.tokens


def test_checkpoints_of_another_training_are_left_alone(target: Path, tmp_path: Path) -> None:
    Training(EaglePupil(target, 64, 1), documents, tmp_path, minutes=10, threads=1)
    with pytest.raises(SettingError, match="has the checkpoints of another training: delete it, or choose another"):
        Training(EaglePupil(target, 96, 1), documents, tmp_path, minutes=10, threads=1)


def test_too_little_text_is_refused(target: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="the data has 3 tokens: give at least 1,000"):
        Training(EaglePupil(target, 64, 1), partial(documents_of, ["hello"]), tmp_path, minutes=1, threads=1)


def turns(count: int) -> list[RecordedTurn]:
    """Turns of 500 tokens each."""
    best = np.full((450, KEPT), 7, np.int32)
    return [RecordedTurn(np.full(500, 9, np.int32), 50, best, np.zeros_like(best, np.float16))] * count


def test_only_recorded_turns_alone_spare_the_memory_of_the_target(target: Path, tmp_path: Path) -> None:
    weights = sum(tensor.size or 0 for tensor in read_model(target).tensors)
    teacher = Teacher(target, (), n_ctx=LONGEST, threads=1)
    both = TeacherOfBoth(turns(10), lambda *_: [], teacher, LONGEST)
    alone, beside = (
        Training(draft_pupil(target, 0.5, seed=1), documents, tmp_path, minutes=1, threads=1, recorded=recorded)
        for recorded in (RecordedTeacher(turns(10), LONGEST), both)
    )
    assert beside.needs == alone.needs + weights
    both.close()


class ClosingTeacher(RecordedTeacher):
    """Counts how often it is closed."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("failure", ["little text", "no checkpoint", "another training", "little memory"])
def test_a_training_that_cannot_begin_closes_its_teacher(
    failure: str, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher = ClosingTeacher(turns(1 if failure == "little text" else 10), LONGEST)
    begin = tmp_path / "nowhere" if failure == "no checkpoint" else None
    if failure == "another training":
        Training(draft_pupil(target, 2.0, seed=1), documents, tmp_path, minutes=1, threads=1)
    if failure == "little memory":
        monkeypatch.setattr(runs, "free_bytes", lambda _: 1)
    with pytest.raises(SettingError):
        Training(
            draft_pupil(target, 0.5, seed=1),
            documents,
            tmp_path,
            minutes=1,
            threads=1,
            begin=begin,
            recorded=teacher,
        )
    assert teacher.closed == 1


def test_a_target_that_hands_out_no_states_is_refused(tmp_path: Path, target: Path) -> None:
    data = target.read_bytes().replace(b"general.architecture", b"general.architecture", 1)
    other = tmp_path / "other.gguf"
    other.write_bytes(data.replace(b"llama", b"qwen2"))
    with pytest.raises(PairError, match=r"hidden states of qwen2; train a draft model"):
        EaglePupil(other, 64, 1)
    with pytest.raises(PairError, match="only llama models with tied embeddings can"):
        MtpPupil(other, tmp_path, 1)


def test_a_full_disk_leaves_no_half_written_file(target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pupil = EaglePupil(target, 64, 1)
    training = Training(pupil, documents, tmp_path, minutes=10, threads=1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pupil, "write", full)
    with pytest.raises(OSError, match="No space left"):
        training.run(tmp_path / "out.gguf", "a head", "F16", lambda _: training.stop())
    assert not (tmp_path / "out.gguf").exists()
    assert (tmp_path / "training.pt").exists()


def test_sizes_of_a_draft_follow_its_share(target: Path) -> None:
    header = read_model(target)
    small, large = draft_config(header, 0.5), draft_config(header, 3.0)
    assert small.vocab_size == large.vocab_size == header.n_vocab
    assert (small.width, small.layers) < (large.width, large.layers)
