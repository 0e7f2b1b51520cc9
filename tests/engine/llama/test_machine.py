"""This machine as a place for models."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from specchat_engine import SettingError
from specchat_engine.gguf import read_model
from specchat_engine.llama import machine, model
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.machine import (
    compiler,
    device_array,
    has_gpu,
    main_memory,
    may_repack,
    repacked_types,
    supports_gpu_offload,
    this_machine,
)
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.memory.estimate import REPACKED_ARM, REPACKED_X86, TILED
from specchat_engine.memory.placement import DeviceMemory
from support.quantise import FLOAT_TYPES, QUANTISED_TYPES, quantise
from support.tiny_models import EngineFiles, write_tiny_model

AVX2 = "CPU : SSE3 = 1 | AVX2 = 1 | FMA = 1 | OPENMP = 1 | REPACK = 1 | "
AVX512 = "CPU : AVX2 = 1 | AVX512 = 1 | AVX512_BF16 = 1 | REPACK = 1 | "
TILES = "CPU : AVX2 = 1 | AVX512 = 1 | AMX_INT8 = 1 | REPACK = 1 | "


def test_the_computer_itself_is_one_of_its_places() -> None:
    found = this_machine()
    assert found.host.kind == "cpu"
    assert 0 < found.host.free <= found.host.total


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
def test_the_processors_features_decide_which_types_get_a_second_copy(features: str, types: frozenset[str]) -> None:
    assert repacked_types(features) == types


def test_where_tiles_would_crash_only_halves_get_one() -> None:
    assert repacked_types(TILES, broken_tiles=True) == {"F16"}
    assert repacked_types(TILES.replace("AMX_INT8 = 1", "AMX_INT8 = 0"), broken_tiles=False) == REPACKED_X86 | {"Q2_K"}


IDS = [5, 200, 17, 3, 3, 251, 40, 99, 120, 7, 8]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("source") / "source.gguf", width=256, sharpness=0.1)


@pytest.mark.parametrize("kind", [*FLOAT_TYPES, *QUANTISED_TYPES])
def test_passes_of_any_width_over_weights_of_any_type_give_numbers(tmp_path: Path, source: Path, kind: str) -> None:
    quantise(source, tmp_path / "written.gguf", kind)
    written = LlamaModel(tmp_path / "written.gguf")
    context = LlamaContext(NativeContext(written, n_ctx=64, max_rows=len(IDS), threads=1))
    try:
        one_by_one = np.array([context.advance([token], 1)[0].copy() for token in IDS])
        context.clear()
        together = np.array(context.advance(IDS, len(IDS)))
    finally:
        context.close()
        written.close()
    assert np.isfinite(together).all()
    assert np.abs(together - one_by_one).max() < 0.1 * np.abs(one_by_one).max()


@pytest.mark.parametrize(
    ("notes", "name"),
    [
        ("GCC: (Debian 12.2.0-14+deb12u1) 12.2.0", "GCC 12.2.0"),
        ("GCC: (GNU) 4.8.5 20150623 (Red Hat 4.8.5-44)\0GCC: (GNU) 13.2.1 20231205", "GCC 13.2.1"),
        ("GCC: (Debian 9.3.0-1) 9.3.0\0GCC: (Debian 10.2.1-6) 10.2.1", "GCC 10.2.1"),
        ("GCC: (Debian 12.2.0-14) 12.2.0\0Debian clang version 16.0.6 (15~deb12u1)", "clang 16.0.6"),
        ("", ""),
    ],
)
def test_the_notes_in_a_library_name_its_compiler(notes: str, name: str) -> None:
    assert compiler(b"\x7fELF\0\1.comment\0" + notes.encode() + b"\0.text\0") == name


@pytest.mark.parametrize(("kind", "anew"), [("F16", True), ("BF16", True), ("Q8_0", False), ("Q4_K_M", False)])
def test_only_files_with_types_that_are_computed_in_tiles_stay_as_they_are(
    tmp_path: Path, source: Path, kind: str, anew: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    quantise(source, tmp_path / "written.gguf", kind)
    header = read_model(tmp_path / "written.gguf")
    monkeypatch.setattr(machine, "tile_fault", lambda **_: "they crash")
    assert may_repack(header) is anew
    monkeypatch.setattr(machine, "tile_fault", lambda **_: "")
    assert may_repack(header)


@pytest.mark.parametrize("fault", ["", "they crash"])
def test_llama_cpp_gets_the_choice(source: Path, tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    repacks: list[bool] = []
    load = model.api.llama_model_load_from_file
    monkeypatch.setattr(machine, "tile_fault", lambda **_: fault)
    monkeypatch.setattr(
        model.api,
        "llama_model_load_from_file",
        lambda path, params: (repacks.append(params.use_extra_bufts), load(path, params))[1],
    )
    quantise(source, tmp_path / "written.gguf", "Q8_0")
    for path in (source, tmp_path / "written.gguf"):
        LlamaModel(path).close()
    assert repacks == [True, not fault]


def test_the_libraries_of_this_process_are_found() -> None:
    """Where Linux lists them."""
    found = list(machine.loaded_libraries())
    if Path("/proc/self/maps").exists():
        assert any("ggml-cpu" in path.name for path in found)
    assert all(path.exists() for path in found)


def test_what_the_processor_has_and_the_build_does_not_use_is_named() -> None:
    build = "CPU : SSE3 = 1 | AVX2 = 1 | F16C = 1 | FMA = 1 | REPACK = 1 | "
    assert machine.unused_features(build, {"avx2", "fma", "f16c", "sse3"}) == ()
    assert machine.unused_features(build, {"avx2", "avx512f", "avx512_vnni"}) == ("AVX512", "AVX512_VNNI")
    assert machine.unused_features("CPU : NEON = 1 | ", {"asimd", "asimddp"}) == ("DOTPROD",)


def test_every_build_has_a_processor() -> None:
    found = machine.devices()
    kinds = [device.kind for device in found]
    assert "cpu" in kinds
    assert all(0 <= device.free <= device.total for device in found)
    assert all(device.name and device.description for device in found)


def test_offload_is_promised_only_if_there_is_a_gpu_build() -> None:
    gpus = [device for device in machine.devices() if device.kind in ("gpu", "integrated gpu")]
    assert supports_gpu_offload() or not gpus


def test_no_names_mean_all_devices() -> None:
    assert device_array(()) is None


def test_devices_are_found_by_name_whatever_the_case_and_end_with_null() -> None:
    name = machine.devices()[0].name
    array = device_array((name.upper(), name.lower()))
    assert len(array) == 3
    assert array[0] == array[1]
    assert array[2] is None


def test_an_unknown_device_is_rejected_with_those_there_are() -> None:
    with pytest.raises(SettingError, match=r"no device 'CUDA77': this build has .*cpu"):
        device_array(("CUDA77",))


def test_patterns_of_tensors_go_with_the_memory_of_their_devices() -> None:
    name_of = machine.ggml_function("ggml_backend_buft_name", ctypes.c_char_p, ctypes.c_void_p)
    array = machine.override_array([("ffn_.*_exps", "cpu"), ("attn", "CPU")])
    assert [each.pattern for each in array] == [b"ffn_.*_exps", b"attn", None]
    assert [name_of(each.buffer_type) for each in array[:2]] == [b"CPU", b"CPU"]
    assert array[2].buffer_type is None
    assert machine.override_array([]) is None
    with pytest.raises(SettingError, match="there is no device 'CUDA7'"):
        machine.override_array([("attn", "CUDA7")])


def test_layers_can_be_on_a_gpu_if_one_of_the_named_devices_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [DeviceMemory("CPU", "cpu", 1, 1), DeviceMemory("CUDA0", "gpu", 1, 1)]
    monkeypatch.setattr(machine, "devices", lambda: found)
    monkeypatch.setattr(machine, "supports_gpu_offload", lambda: True)
    assert (has_gpu(), has_gpu(("cuda0",)), has_gpu(("CPU",))) == (True, True, False)
    monkeypatch.setattr(machine, "supports_gpu_offload", lambda: False)
    assert not has_gpu()
    found.pop()
    assert not has_gpu()


def test_a_model_is_on_a_gpu_if_all_of_its_layers_are(files: EngineFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.llama.model.has_gpu", lambda names: "CPU" not in names)
    for layers, names, whole in ((-1, (), True), (99, (), True), (1, (), False), (0, (), False), (-1, ("CPU",), False)):
        model = LlamaModel(files.target, gpu_layers=layers, devices=names)
        assert model.on_gpu == whole
        model.close()


ALL_OF_IT = DeviceMemory("CPU", "cpu", 16 * 2**30, 16 * 2**30)


def free_and_total(folder: Path, **files: str) -> tuple[int, int]:
    """The free and the total GiB of a machine with 16, 12 of them free, whose container has these files."""
    (folder / "meminfo").write_text(f"MemTotal: {16 * 2**20} kB\nMemFree: 1000 kB\nMemAvailable: {12 * 2**20} kB\n")
    for name, text in files.items():
        (folder / f"memory.{name}").write_text(text)
    found = main_memory(ALL_OF_IT, folder / "meminfo", folder)
    return found.free // 2**30, found.total // 2**30


def test_free_memory_is_what_programs_can_still_allocate(tmp_path: Path) -> None:
    assert main_memory(ALL_OF_IT, tmp_path / "none", tmp_path) == ALL_OF_IT
    assert free_and_total(tmp_path) == (12, 16)
    assert free_and_total(tmp_path, max="max\n") == (12, 16)


def test_a_containers_limit_is_its_total_and_files_that_it_caches_count_as_free(tmp_path: Path) -> None:
    used = {"current": str(7 * 2**30), "stat": f"anon 1\nactive_file {2**30}\ninactive_file {3 * 2**30}\nshmem 5\n"}
    assert free_and_total(tmp_path, max=str(8 * 2**30), **used) == (5, 8)
    assert free_and_total(tmp_path, max=str(64 * 2**30), **used) == (12, 16)
    assert free_and_total(tmp_path, max=str(2 * 2**30), **used) == (0, 2)


def test_a_process_with_pytorch_which_resets_the_tiles_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    monkeypatch.setattr(machine, "uses_tiles", lambda _: True)
    assert machine.tile_fault().startswith("PyTorch")
    monkeypatch.setattr(machine, "uses_tiles", lambda _: False)
    assert machine.tile_fault() == ""
