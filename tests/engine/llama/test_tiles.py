"""AMX tiles: the comparison with plain products, and the corrected intrinsic."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from specchat_engine.llama.library import loaded_libraries, system_info
from specchat_engine.llama.machine import tile_fault, uses_tiles
from specchat_engine.llama.tiles import find_fault
from specchat_engine.threads.processors import read_features

HEADER = Path(__file__).parents[3] / "engine/llama-tiles.h"
Q8_0, Q4_K = 8, 12

PROGRAM = """
#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  syscall(SYS_arch_prctl, 0x1023, 18);
  struct { unsigned char palette, start, zeros[14]; unsigned short bytes[16]; unsigned char rows[16]; } all = {0}, back;
  all.palette = 1;
  for (int tile = 0; tile < 8; tile++) { all.bytes[tile] = 64; all.rows[tile] = 16; }
  _tile_loadconfig(&all);
  _tile_storeconfig(&back);
  return memcmp(&all, &back, 64) != 0;
}
"""
"""Configures the tiles as llama.cpp does, and reads the configuration back."""


def test_libraries_that_are_gone_cannot_be_checked() -> None:
    assert find_fault([Path("/nowhere/libggml-cpu.so")], [Q8_0]) == "they could not be checked"


@pytest.mark.skipif(not uses_tiles(system_info()), reason="this build or processor has no AMX")
@pytest.mark.skipif(bool(tile_fault()), reason="this build was made without engine/llama-tiles.h")
def test_a_difference_above_the_tolerance_is_a_fault() -> None:
    assert find_fault(loaded_libraries(), [Q8_0, Q4_K]) == ""
    assert find_fault(loaded_libraries(), [Q8_0, Q4_K], tolerance=1e-12) == "their results are wrong"


@pytest.mark.skipif("amx_int8" not in read_features(), reason="this processor has no AMX")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs GCC")
def test_any_gcc_loads_a_whole_configuration_with_the_header(tmp_path: Path) -> None:
    (tmp_path / "tiles.c").write_text(PROGRAM)
    options = ("-O3", "-mamx-tile", "-include", str(HEADER))
    subprocess.run(["gcc", *options, "tiles.c", "-o", "tiles"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "tiles"], check=True)
