"""What is recommended fits the machine, gains there as far as is known, and promises no more than was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from specchat.models.machine import ComputeDevice
from specchat.models.recommended import basis, few, note, outline, suggestions
from specchat.models.suggestion import SpeedUpKind, Suggestion
from specchat_assets.catalog import catalog
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import DeviceMemory, Machine, where_it_goes

GB = 10**9
FLAT = {"Q4_K_M": MeasuredCosts(tuple((width, 1.0 + 0.01 * (width - 1)) for width in range(1, 17)))}
STEEP = {"Q4_K_M": MeasuredCosts(((1, 10.0), (2, 30.0), (16, 200.0)))}
PLACES = ((8, 20.0, 0), (25, 20.0, 0), (200, 400.0, 0), (64, None, 0), (64, 20.0, 8), (64, 20.0, 80))


def place(memory: int, bandwidth: float | None, gpu: int = 0) -> ComputeDevice:
    """A machine of two cores; memory in GB, bandwidth in GB/s."""
    devices = [DeviceMemory("CPU", "cpu", memory * GB, memory * GB)]
    if gpu:
        devices.append(DeviceMemory("CUDA0", "gpu", gpu * GB, gpu * GB))
    machine = Machine(tuple(devices), frozenset({"Q4_K", "Q4_0", "MXFP4"}))
    return ComputeDevice(machine, 2, None if bandwidth is None else bandwidth * GB)


@cache
def suggested(memory: int, bandwidth: float | None, gpu: int = 0, *, flat: bool = False) -> tuple[Suggestion, ...]:
    """The suggestions for a machine where nothing was measured, or where wide passes cost little."""
    return (*suggestions(place(memory, bandwidth, gpu), FLAT if flat else {}),)


def offered(found: Iterable[Suggestion], target: str) -> Suggestion:
    return next(one for one in found if one.model.id == target)


def test_a_two_core_cpu_is_promised_no_gain_from_a_draft_for_a_quantised_llama() -> None:
    found = suggested(25, 25.0)
    llama = offered(found, "llama-3.1-8b")
    assert llama.quantisation == "Q4_K_M"
    assert llama.pair is None
    assert llama.kind is SpeedUpKind.LOOKUP
    assert "Llama 3.2 1B as a draft gains nothing here" in llama.lines()
    assert not any(one.gains for one in found)
    assert note(place(25, 25.0), found) == "No draft is known to gain on this CPU. Lookup does, on edits."
    busy = replace(place(25, 25.0), disturbed=True)
    assert note(busy, found).endswith("Other programs use the CPU now: expect more tok/s without them.")
    assert llama.speedup is not None
    assert llama.speed == f"{llama.pace:.1f} tok/s, up to {llama.pace * llama.speedup:.0f} for edits"


def test_costs_that_were_measured_here_decide() -> None:
    flat = offered(suggested(25, 25.0, flat=True), "llama-3.1-8b")
    assert flat.gains
    assert flat.title == "Llama 3.1 8B Q4_K_M + 3.2 1B"
    steep = offered(suggestions(place(25, 25.0), STEEP), "qwen3-4b")
    assert steep.kind is SpeedUpKind.PLAIN
    assert steep.speed.endswith("tok/s, no gain")
    assert "Qwen3 0.6B as a draft gains nothing here" in steep.lines()
    assert "Neither a draft nor lookup" in note(place(25, 25.0), [steep])
    assert note(place(25, 25.0), [flat]) == ""


def test_nothing_is_promised_above_what_was_measured_elsewhere() -> None:
    for where, flat in product(PLACES, (False, True)):
        for one in suggested(*where, flat=flat):
            if one.pair and one.pair.reported is not None:
                assert one.speedup is not None, where
                assert one.speedup <= one.pair.reported, where
    assert offered(suggested(64, 20.0, 24), "llama-3.1-8b").speed == "up to 1.7 × with a draft"


def test_a_pair_that_its_source_found_slower_is_not_offered_for_a_gain() -> None:
    for where in PLACES:
        for one in suggested(*where, flat=True):
            assert not (one.model.id == "qwen2.5-14b" and one.pair)
            assert not (one.pair and one.pair.draft.id == "qwen2.5-coder-3b")
            assert one.speedup is None or one.speedup >= 1


def test_of_a_draft_that_nobody_measured_nothing_is_promised() -> None:
    on_gpu = offered(suggested(64, 20.0, 24), "qwen3-8b")
    assert on_gpu.kind is SpeedUpKind.UNMEASURED
    assert on_gpu.speed == "speed-up not known"
    on_cpu = offered(suggested(25, 25.0), "qwen3-8b")
    assert on_cpu.pair is None
    assert any("Qwen3 0.6B as a draft: not measured" in line for line in on_cpu.lines())


def test_on_a_gpu_a_draft_is_compared_with_the_heads_of_its_target() -> None:
    on_gpu = offered(suggested(200, 400.0, 80), "gemma-4-31b")
    assert on_gpu.pair is not None
    layers = on_gpu.pair.draft.header["block_count"]
    assert f"a head computes one layer for each token, this draft {layers}: that counts on a fast GPU" in on_gpu.lines()
    for found in (suggested(200, 400.0), suggested(200, 400.0, 80)):
        others = (one for one in found if one is not on_gpu and not (one.pair and one.model.heads))
        assert not any("a head computes one layer" in line for one in others for line in one.lines())


@pytest.mark.parametrize("where", PLACES)
def test_everything_fits_by_the_estimate_that_loading_uses(where: tuple[int, float | None, int]) -> None:
    there, bits = place(*where), catalog().bits
    found = suggested(*where)
    assert found
    for one in found:
        target = outline(one.model, one.quantisation, bits[one.quantisation])
        name = one.quantisation_draft
        draft = outline(one.pair.draft, name, bits[name]) if one.pair else None
        assert where_it_goes(target, draft, LoadOptions(n_ctx=one.n_ctx), there.machine).fits
        assert one.n_ctx >= 4096
        assert one.memory <= there.machine.host.free + sum(gpu.free for gpu in there.machine.gpus())
        assert math.isinf(one.pace) or one.pace >= 3


def test_a_context_that_does_not_fit_is_offered_shorter_and_a_model_that_does_not_fit_not_at_all() -> None:
    roomy, cramped = suggested(64, 25.0), suggested(25, 25.0)
    whole, part = (offered(found, "llama-3.1-8b") for found in (roomy, cramped))
    assert whole.n_ctx == 131072
    assert whole.memory > 25 * GB
    assert part.n_ctx < whole.n_ctx
    assert any(f"{part.n_ctx:,} tokens of its 131,072" in line for line in part.lines())
    assert not any(one.model.id == "llama-3.1-8b" for one in suggested(8, 25.0))
    assert suggested(0, 25.0) == ()
    on_gpu = offered(suggested(64, 20.0, 12), "llama-3.1-8b")
    assert any(f"load it with -c {on_gpu.n_ctx}" in line for line in on_gpu.lines())


def test_models_without_a_draft_are_offered_with_lookup() -> None:
    found = suggested(200, 400.0)
    for target in ("phi-4", "phi-4-mini", "mistral-7b-0.3", "mistral-nemo-12b", "smollm3-3b"):
        one = offered(found, target)
        assert one.draft == ""
        assert "no draft needed" in one.kind.value
        assert one.speed.endswith("for edits")
    assert offered(found, "gpt-oss-20b").kind is SpeedUpKind.EXPERTS


def test_sixteen_bits_are_offered_where_checking_tokens_is_cheap_there() -> None:
    small, large = [one for one in suggested(25, 25.0) if one.model.id == "llama-3.2-1b"]
    assert (small.quantisation, large.quantisation) == ("Q4_K_M", "F16")
    assert large.kind is SpeedUpKind.CHEAP_PASSES
    assert (large.speedup or 0) > 1.2 * (small.speedup or 0)
    assert large.pace < small.pace
    flat = {**FLAT, "F16": FLAT["Q4_K_M"]}
    assert len([one for one in suggestions(place(25, 25.0), flat) if one.model.id == "llama-3.2-1b"]) == 1


def test_titles_and_names_are_those_of_the_hub() -> None:
    found = suggested(25, 25.0)
    titles = [one.title for one in found]
    assert len(titles) == len({*titles}) > 10
    assert "Qwen3 4B Q4_K_M" in titles
    assert all(one.target.count("/") == 1 and ":" in one.target for one in found)
    assert offered(suggested(64, 20.0, 24), "qwen3-4b").draft == "unsloth/Qwen3-0.6B-GGUF:Q8_0"


def test_a_few_are_of_different_kinds_and_known_gains_come_first() -> None:
    chosen = few(suggested(25, 40.0))
    assert {one.kind for one in chosen} == {SpeedUpKind.EXPERTS, SpeedUpKind.LOOKUP, SpeedUpKind.CHEAP_PASSES}
    assert len({one.model.family for one in chosen}) == len(chosen) == 3
    assert all(one.pace >= 5 for one in chosen)
    gaining = few(suggested(64, 20.0, 48))
    assert all(one.gains for one in gaining)
    assert [one.speedup for one in gaining] == sorted((one.speedup for one in gaining), key=lambda most: -(most or 0))
    assert few([]) == []


def test_a_gpu_is_described_and_has_no_expected_speed() -> None:
    there, found = place(64, 20.0, 24), suggested(64, 20.0, 24)
    assert not any("tok/s" in one.speed for one in found)
    assert "not known before" in basis(there)
    assert note(there, found) == ""
    assert "CUDA0 24 GB" in there.words
    assert "could not be measured" in basis(place(25, None))
