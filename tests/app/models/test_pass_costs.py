"""What passes cost: measured here, or else, on a CPU, the curve of the quantisation, or of one with as many bits."""

from __future__ import annotations

import pytest

from specchat.models.pass_costs import PassCosts, judge_here, pass_costs
from specchat.models.recommended import outline
from specchat_assets.catalog import catalog
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import DeviceMemory, Machine
from specchat_engine.pairing import Grade, PairFinding, PairVerdict

CPU = Machine((DeviceMemory("CPU", "cpu", 64 * 10**9, 64 * 10**9),))
GPU = Machine((*CPU.devices, DeviceMemory("CUDA0", "gpu", 24 * 10**9, 24 * 10**9)))


def test_a_measurement_of_this_machine_comes_first() -> None:
    here = MeasuredCosts(((1, 10.0), (5, 12.0)))
    costs = pass_costs("Q4_K_M", CPU, {"Q4_K_M": here})
    assert costs is not None
    assert costs.relative == pytest.approx([1.0, 1.05, 1.1, 1.15, 1.2])
    assert "measured here" in costs.basis


@pytest.mark.parametrize(
    ("quantisation", "curve"),
    [
        ("Q4_K_M", "Q4_K_M"),
        ("MXFP4", "Q4_K_M"),
        ("IQ4_XS", "Q4_K_M"),
        ("Q3_K_M", "Q4_K_M"),
        ("Q5_0", "Q5_K_M"),
        ("Q6_K", "Q6_K"),
        ("Q8_0", "Q8_0"),
        ("F16", "F16"),
        ("BF16", "BF16"),
    ],
)
def test_else_the_shipped_curve_is_named(quantisation: str, curve: str) -> None:
    costs = pass_costs(quantisation, CPU, {})
    assert costs is not None
    known = catalog().costs
    at = dict(zip(known.widths, known.curves[curve], strict=True))
    assert costs.relative[4] == pytest.approx(at[5])
    assert f"costs of {curve} on {known.source}" in costs.basis


def test_on_a_gpu_only_a_measurement_counts() -> None:
    here = MeasuredCosts(((1, 10.0), (5, 10.4)))
    costs = pass_costs("Q4_K_M", GPU, {"Q4_K_M": here})
    assert costs == PassCosts.here(here)
    assert pass_costs("Q4_K_M", GPU, {"Q8_0": here}) is None


def test_an_unknown_format_has_none() -> None:
    assert pass_costs("F32", CPU, {}) is None
    assert pass_costs("unknown", CPU, {}) is None


def speed_up(verdict: PairVerdict) -> PairFinding:
    return next(line for line in verdict.lines if line.topic == "speed-up")


def test_the_verdict_on_a_known_pair_uses_them_and_its_measured_speed_up() -> None:
    known = catalog()
    (pair,) = known.drafts_for(known.models["llama-3.1-8b"])
    target, draft = outline(pair.target, "Q4_K_M", 4.9), outline(pair.draft, "Q8_0", 8.5)
    here = judge_here(target, draft, LoadOptions(n_ctx=4096), CPU, {}, pair)
    assert speed_up(here).grade is Grade.WARNING
    assert here.speedup is not None
    assert here.speedup < 1.05
    assert "Q4_K_M on another machine, 2 CPU cores" in speed_up(here).finding
    on_gpu = judge_here(target, draft, LoadOptions(n_ctx=4096), GPU, {}, pair)
    assert on_gpu.speedup == pytest.approx(1.71)
    assert "at most 1.71×" in speed_up(on_gpu).finding


def test_without_a_known_alpha_the_verdict_says_the_most_that_is_possible() -> None:
    known = catalog()
    (pair,) = known.drafts_for(known.models["qwen3-8b"])
    target, draft = outline(pair.target, "Q4_K_M", 4.9), outline(pair.draft, "Q8_0", 8.5)
    verdict = judge_here(target, draft, LoadOptions(n_ctx=4096), CPU, {}, pair)
    assert verdict.speedup is None
    assert "not measured" in speed_up(verdict).finding
    assert "if every token were accepted" in speed_up(verdict).finding
