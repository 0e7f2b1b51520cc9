"""This machine as a place for models."""

from __future__ import annotations

import pytest

from specchat_engine.llama.machine import _repacked, this_machine
from specchat_engine.memory.estimate import REPACKED_ARM, REPACKED_X86, TILED

AVX2 = "CPU : SSE3 = 1 | AVX2 = 1 | FMA = 1 | OPENMP = 1 | REPACK = 1 | "
AVX512 = "CPU : AVX2 = 1 | AVX512 = 1 | AVX512_BF16 = 1 | REPACK = 1 | "
TILES = "CPU : AVX2 = 1 | AVX512 = 1 | AMX_INT8 = 1 | REPACK = 1 | "


def test_the_computer_itself_is_one_of_its_places() -> None:
    machine = this_machine()
    assert machine.host.kind == "cpu"
    assert 0 < machine.host.free <= machine.host.total


@pytest.mark.parametrize(
    ("features", "types"),
    [
        ("CPU : SSE3 = 1 | AVX = 1 | REPACK = 1 | ", frozenset()),
        ("CPU : AVX2 = 1 | REPACK = 0 | ", frozenset()),
        (AVX2, REPACKED_X86),
        (AVX512, REPACKED_X86 | {"Q2_K"}),
        (TILES, REPACKED_X86 | TILED | {"Q2_K", "F16"}),
        ("CPU : NEON = 1 | DOTPROD = 1 | REPACK = 1 | ", REPACKED_ARM),
    ],
)
def test_what_gets_a_second_copy_is_told_by_what_the_processor_can_do(features: str, types: frozenset[str]) -> None:
    assert _repacked(features) == types


def test_where_tiles_would_crash_only_halves_get_one() -> None:
    assert _repacked(TILES, broken_tiles=True) == {"F16"}
    assert _repacked(TILES.replace("AMX_INT8 = 1", "AMX_INT8 = 0"), broken_tiles=False) == REPACKED_X86 | {"Q2_K"}
