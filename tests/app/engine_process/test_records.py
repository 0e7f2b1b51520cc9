"""What was learned of a pair is found again at the next start, and nothing but that is lost where it cannot be."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from specchat.engine_process import records
from specchat_engine.load_options import ModelInfo
from specchat_engine.memory.placement import DeviceMemory, Machine
from specchat_engine.pairing.judge import relative_costs
from specchat_engine.policy.controller import Controller

if TYPE_CHECKING:
    from specchat_engine import Engine

CPU = Machine((DeviceMemory("CPU", "cpu", 0, 0),))
GPU = Machine((*CPU.devices, DeviceMemory("CUDA0", "gpu", 0, 0)))


@dataclass
class Pair:
    """As much of an engine as is asked for."""

    identity: str = "one pair"
    controller: Controller = field(default_factory=Controller)
    target: ModelInfo = field(default_factory=lambda: ModelInfo("one", "one.gguf"))
    on_gpu: bool | None = False


def as_engine(pair: Pair) -> Engine:
    return cast("Engine", pair)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(records, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def test_a_second_start_knows_what_the_first_learned(folder: Path) -> None:
    first, second, other = Pair(), Pair(), Pair("another pair")
    first.controller.target.observe(1, 0, 2.5)
    records.keep(as_engine(first))
    assert records.recall(as_engine(second))
    assert second.controller.target.at(1, 0) == pytest.approx(2.5)
    assert not records.recall(as_engine(other))


def test_the_next_start_knows_the_costs_of_each_number_of_threads(folder: Path) -> None:
    first, second = Pair(), Pair()
    for threads, milliseconds in ((4, 3.0), (2, 2.0)):
        first.controller.use_threads(threads, 1)
        first.controller.target.observe(1, 0, milliseconds)
    records.keep(as_engine(first))
    assert records.recall(as_engine(second))
    for threads, milliseconds in ((2, 2.0), (4, 3.0)):
        second.controller.use_threads(threads, 1)
        assert second.controller.target.at(1, 0) == pytest.approx(milliseconds)


@pytest.mark.parametrize("choice", [{"threads": 2, "speeds": [[2, 1.0], [4, 0.7]], "day": "2026-03-01"}, "damaged"])
def test_a_record_with_a_choice_of_threads_by_an_older_version_is_read(folder: Path, choice: object) -> None:
    first, second = Pair(), Pair()
    first.controller.target.observe(1, 0, 2.5)
    records.keep(as_engine(first))
    (file,) = (folder / "pairs").iterdir()
    older = {"models": ["one"], "threads": {"target": choice}}
    file.write_text(json.dumps(json.loads(file.read_text()) | older))
    assert records.recall(as_engine(second))
    assert second.controller.target.at(1, 0) == pytest.approx(2.5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"target": {"0": {"1": -3}}, "draft": {}, "habits": {}}',
    ],
)
def test_a_damaged_record_is_left_alone(folder: Path, text: str) -> None:
    records.keep(as_engine(Pair()))
    for path in (folder / "pairs").iterdir():
        path.write_text(text)
    pair = Pair()
    before = pair.controller
    assert not records.recall(as_engine(pair))
    assert pair.controller is before


def test_a_folder_that_cannot_be_written_is_no_error(folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    records.keep(as_engine(Pair()))
    assert not records.recall(as_engine(Pair()))


def measured(
    identity: str,
    quantisation: str,
    *,
    size: int = 10**9,
    experts: int = 0,
    slope: float = 0.5,
    on_gpu: bool | None = False,
) -> Pair:
    """A pair whose target made passes over 1 to 16 tokens."""
    info = ModelInfo("one", "one.gguf", size_bytes=size, quantisation=quantisation, experts=experts)
    pair = Pair(identity, target=info, on_gpu=on_gpu)
    for width in (1, 2, 4, 8, 16):
        pair.controller.target.observe(width, 0, 10.0 * (1 + slope * (width - 1)))
    return pair


def test_the_costs_of_passes_are_kept_by_quantisation(folder: Path) -> None:
    assert records.kept_costs(CPU) == {}
    records.keep(as_engine(measured("a", "Q4_K_M")))
    records.keep(as_engine(measured("b", "BF16", slope=0.1)))
    known = records.kept_costs(CPU)
    assert set(known) == {"Q4_K_M", "BF16"}
    assert relative_costs(known["Q4_K_M"])[4] == pytest.approx(3.0)
    assert relative_costs(known["BF16"])[4] == pytest.approx(1.4)


def test_costs_of_small_models_mixtures_and_few_widths_say_nothing_about_others(folder: Path) -> None:
    records.keep(as_engine(measured("small", "F16", size=36_000_000)))
    records.keep(as_engine(measured("mixture", "MXFP4", experts=32)))
    narrow = Pair("narrow", target=ModelInfo("one", "one.gguf", size_bytes=10**9, quantisation="Q8_0"))
    narrow.controller.target.observe(1, 0, 10.0)
    narrow.controller.target.observe(2, 0, 12.0)
    records.keep(as_engine(narrow))
    (folder / "pairs" / "older.json").write_text('{"target": {}, "models": ["one"]}')
    assert records.kept_costs(CPU) == {}


def test_costs_on_a_gpu_say_nothing_about_a_cpu_nor_those_of_a_target_on_both(folder: Path) -> None:
    records.keep(as_engine(measured("a", "Q4_K_M", slope=0.01, on_gpu=True)))
    records.keep(as_engine(measured("b", "Q4_K_M", slope=0.5, on_gpu=False)))
    records.keep(as_engine(measured("c", "Q8_0", on_gpu=None)))
    assert relative_costs(records.kept_costs(GPU)["Q4_K_M"])[4] == pytest.approx(1.04)
    assert relative_costs(records.kept_costs(CPU)["Q4_K_M"])[4] == pytest.approx(3.0)
    assert "Q8_0" not in {**records.kept_costs(CPU), **records.kept_costs(GPU)}
