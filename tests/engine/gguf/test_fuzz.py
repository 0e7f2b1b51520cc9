"""Damaged headers: a right answer or a refusal, never another exception, never much memory."""

from __future__ import annotations

import random
import tracemalloc

from support.header_mutations import agrees, look, mutate, seeds

CASES = 4000


def test_sound_headers_are_read_as_a_trusting_reader_reads_them() -> None:
    for sound in seeds():
        header = look(sound, size_known=True)
        assert header is not None
        assert len(header.metadata) == 20
        assert agrees(header, sound)


def test_damaged_headers_give_a_right_answer_or_an_error() -> None:
    chance, sound = random.Random(1), seeds()
    read = 0
    for case in range(CASES):
        data = mutate(sound, chance)
        header = look(data, size_known=case % 2 == 0)
        if header is not None:
            read += 1
            assert agrees(header, data)
    assert 0.02 * CASES < read < 0.9 * CASES


def test_damaged_headers_take_no_more_memory_than_sound_ones() -> None:
    chance, sound = random.Random(2), seeds()
    damaged = [mutate(sound, chance) for _ in range(300)]
    tracemalloc.start()
    for data in damaged:
        look(data, size_known=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20
