"""What a target said about documents is kept on disk, whole, and is not asked for twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from specchat_engine.training.packing import TokenDocument
from specchat_engine.training.readings import Readings
from specchat_engine.training.teacher import Lesson

DOCUMENTS = [TokenDocument([number] * (number + 2), [False] + [True] * (number + 1)) for number in range(5)]


class Target:
    """Says something else about each document, and notes which ones it was given."""

    def __init__(self) -> None:
        self.taught: list[TokenDocument] = []

    def teach(self, document: TokenDocument) -> Lesson:
        self.taught.append(document)
        length, first = len(document.ids), document.ids[0]
        return Lesson(
            document.ids,
            document.learned,
            teacher_ids=np.full((length, 3), first, np.int32),
            teacher_log_probabilities=np.full((length, 3), -first / 2, np.float16),
            states=np.arange(length * 4, dtype=np.float16).reshape(length, 4) + first,
        )


def up_to(count: int, readings: Readings) -> None:
    readings.read(Target().teach, lambda: readings.count < count)


def test_lessons_come_back_as_they_were_taught(tmp_path: Path) -> None:
    readings, target = Readings(tmp_path, DOCUMENTS, "a target"), Target()
    readings.read(target.teach, lambda: True)
    assert readings.tokens == sum(len(document.ids) for document in DOCUMENTS)
    for document, lesson in zip(DOCUMENTS, readings.lessons(), strict=True):
        expected = target.teach(document)
        assert (lesson.ids, lesson.learned) == (document.ids, document.learned)
        np.testing.assert_array_equal(lesson.teacher_ids, expected.teacher_ids)
        np.testing.assert_array_equal(lesson.teacher_log_probabilities, expected.teacher_log_probabilities)
        np.testing.assert_array_equal(lesson.states, expected.states)


def test_reading_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    up_to(2, Readings(tmp_path, DOCUMENTS, "a target"))
    with (tmp_path / "states.bin").open("ab") as file:
        file.write(b"a kill left this")
    again, target = Readings(tmp_path, DOCUMENTS, "a target"), Target()
    assert again.count == len(again.lessons()) == 2
    again.read(target.teach, lambda: True)
    assert target.taught == DOCUMENTS[2:]
    np.testing.assert_array_equal(again.lessons()[2].states, target.teach(DOCUMENTS[2]).states)


def test_other_documents_or_another_target_are_read_anew(tmp_path: Path) -> None:
    up_to(5, Readings(tmp_path, DOCUMENTS, "a target"))
    assert Readings(tmp_path, DOCUMENTS, "another").count == 0
    other = Readings(tmp_path, DOCUMENTS[1:], "a target")
    up_to(1, other)
    assert [lesson.ids for lesson in other.lessons()] == [DOCUMENTS[1].ids]


def test_a_target_without_states_is_read_too(tmp_path: Path) -> None:
    def teach(document: TokenDocument) -> Lesson:
        return replace(Target().teach(document), states=np.empty((len(document.ids), 0), np.float16))

    readings = Readings(tmp_path, DOCUMENTS, "a target")
    readings.read(teach, lambda: True)
    assert [lesson.states.shape for lesson in readings.lessons()] == [(len(one.ids), 0) for one in DOCUMENTS]
