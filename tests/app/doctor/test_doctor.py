from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import specchat_assets
from specchat.cli import main
from specchat.doctor import Finding, engine, examine
from specchat.doctor.report import Status
from specchat.settings.paths import cache_folder, config_file, data_folder
from specchat_engine.llama import library, machine
from specchat_engine.memory.placement import DeviceMemory
from specchat_engine.policy.controller import Controller
from specchat_engine.threads.processors import read_processors


def finding(name: str) -> Finding:
    return next(found for found in examine() if found.name == name)


@pytest.fixture
def builtin_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    for name in (specchat_assets.TARGET_NAME, specchat_assets.DRAFT_NAME):
        (tmp_path / "models" / name).write_bytes(b"GGUF")
    monkeypatch.setattr("specchat_assets.MODELS", tmp_path / "models")


def test_versions_build_devices_threads_and_folders_are_named() -> None:
    found = [*examine()]
    names = {one.name for one in found}
    assert {"python", "specchat", "llama-cpp-python", "llama.cpp", "textual", "features", "GPU offload", "CPU"} <= names
    assert {"cores", "configuration", "data", "cache", "log", "Hugging Face", "C++ compiler", "CMake"} <= names
    (threads,) = [one for one in found if one.section == "Threads"]
    assert threads.value == f"{read_processors().usual}, one for each core that may be used"


def test_main_memory_is_free_as_far_as_loading_models_counts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = DeviceMemory("CPU", "cpu", 24 * 2**30, 24 * 2**30, "a processor")
    monkeypatch.setattr(machine, "devices", lambda: (cpu,))
    monkeypatch.setattr(machine, "main_memory", lambda host: replace(host, free=2**31))
    assert finding("CPU").value == "cpu: a processor, 2.0 of 24.0 GiB free"


def test_a_portable_build_names_the_processor_whose_code_it_uses_and_the_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "build_compiler", lambda: "clang 16.0.6")
    monkeypatch.setattr(library, "cpu_variant", lambda: "zen4")
    assert "portable" in finding("kind").value
    assert "zen4" in finding("kind").value
    monkeypatch.setattr(library, "cpu_variant", lambda: "")
    assert finding("kind").value.startswith("compiled for one processor")
    assert finding("kind").value.endswith("by clang 16.0.6")


def test_a_build_that_leaves_part_of_the_processor_unused_says_how_to_get_a_quicker_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "unused_features", lambda *_: ("AVX512", "AVX512_VNNI"))
    found = finding("features")
    assert found.status is Status.NOTE
    assert "AVX512, AVX512_VNNI" in found.remedy
    assert "-DGGML_NATIVE=on" in found.remedy
    monkeypatch.setattr(machine, "unused_features", lambda *_: ())
    assert finding("features").status is Status.OK
    assert Path(finding("libraries").value).is_dir()


def test_a_build_with_gpu_offload_says_how_far_that_was_tested_and_one_without_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "supports_gpu_offload", lambda: True)
    assert finding("GPU offload").remedy == "offload was tested with Vulkan on a software device, not yet on a GPU"
    monkeypatch.setattr(machine, "supports_gpu_offload", lambda: False)
    assert "CMAKE_ARGS=-DGGML_CUDA=on" in finding("GPU offload").remedy


@pytest.mark.parametrize(("features", "fault"), [("AMX_INT8 = 0", ""), ("AMX_INT8 = 1", "they crash")])
def test_a_build_that_does_not_use_amx_says_why_and_what_another_would_gain(
    features: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "read_features", lambda: {"amx_int8"})
    monkeypatch.setattr(library, "system_info", lambda: features)
    monkeypatch.setattr(machine, "tile_fault", lambda: fault)
    found = finding("AMX")
    assert found.status is Status.NOTE
    assert (fault or "not built in") in found.value
    assert "-DGGML_NATIVE=on" in found.remedy


def test_a_build_that_uses_amx_says_that_its_results_were_compared_and_other_processors_have_no_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "read_features", lambda: {"amx_int8"})
    monkeypatch.setattr(library, "system_info", lambda: "AMX_INT8 = 1")
    monkeypatch.setattr(machine, "tile_fault", lambda: "")
    assert finding("AMX").status is Status.OK
    monkeypatch.setattr(engine, "read_features", lambda: {"avx2"})
    assert "AMX" not in {one.name for one in examine()}


def test_a_wrong_configuration_and_a_folder_that_cannot_be_made_are_lacks_and_missing_tools_a_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("k = 'many'\n")
    data_folder().parent.mkdir(parents=True, exist_ok=True)
    data_folder().touch()
    monkeypatch.setattr("shutil.which", lambda _: None)
    found = {one.name: one for one in examine()}
    assert found["configuration"].status is found["data"].status is Status.LACK
    assert "k is 'many'" in found["configuration"].value
    assert found["C++ compiler"].status is Status.NOTE


@pytest.mark.usefixtures("builtin_pair")
def test_a_complete_installation_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "built-in pair" in shown
    assert "✗" not in shown


def test_a_missing_built_in_pair_exits_with_1_and_says_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat_assets.MODELS", tmp_path / "models")
    assert main(["doctor", "--json"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    lacks = [line for line in lines if line["status"] == "lack"]
    assert [line["name"] for line in lacks] == ["built-in pair"]
    assert "make builtin-pair" in lacks[0]["remedy"]


def limits() -> dict[str, str]:
    return {found.name: found.value for found in examine() if found.section == "Speculation"}


def test_it_says_what_a_perfect_draft_could_bring_by_kind_of_weights() -> None:
    folder = cache_folder() / "pairs"
    folder.mkdir(parents=True)
    controller = Controller()
    for width in (1, 2, 4, 8, 16) * 15:
        controller.target.observe(width, 0, 80.0 * (1 + 0.35 * (width - 1)))
    weights = {"weights": {"quantisation": "Q4_0", "bytes": 5 * 10**9, "experts": 0}}
    (folder / "measured.json").write_text(json.dumps(controller.to_json() | weights))
    shown = limits()
    assert (
        shown["Q4_0"]
        == "at most 2.6 × by a perfect draft of 15 tokens, with the costs measured here; a token takes 80 ms"
    )
    assert shown["BF16"].startswith(
        "not measured here: 3.9 × by a perfect draft of 15 tokens with the costs of BF16 on another machine"
    )


def test_costs_of_other_machines_are_notes_and_the_last_one_says_how_to_measure() -> None:
    found = [one for one in examine() if one.section == "Speculation"]
    assert found
    assert {one.status for one in found} == {Status.NOTE}
    assert "specchat doctor -m MODEL" in found[-1].remedy


def test_on_a_gpu_where_nothing_ran_the_costs_of_cpus_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = DeviceMemory("CUDA0", "gpu", 8 << 30, 8 << 30, "a GPU")
    monkeypatch.setattr(machine, "devices", lambda: (gpu,))
    assert limits() == {"passes": "their cost was not measured on this GPU yet"}
