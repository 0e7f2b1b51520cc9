"""Where a pair goes, what overflows, and which single change makes it fit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specchat_assets import builtin_pair
from specchat_engine.gguf import GgufHeader, read_model
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import DeviceMemory, Machine, Remedy, footprints, where_it_goes

MB = 2**20
ROOM = 2**40


@pytest.fixture(scope="module")
def target() -> GgufHeader:
    """The built-in target, as if it were made for 32,768 tokens."""
    header = read_model(builtin_pair()[0])
    return replace(header, metadata={**header.metadata, "llama.context_length": 32_768})


@pytest.fixture(scope="module")
def draft() -> GgufHeader:
    return read_model(builtin_pair()[1])


def machine(host: int = ROOM, **gpus: int) -> Machine:
    devices = [DeviceMemory("CPU", "cpu", host, host)]
    return Machine((*devices, *(DeviceMemory(name, "gpu", free, free) for name, free in gpus.items())))


def test_without_a_gpu_everything_is_in_main_memory(target: GgufHeader, draft: GgufHeader) -> None:
    placement = where_it_goes(target, draft, LoadOptions(), machine())
    big, small = footprints(target, draft, LoadOptions(), machine())
    assert small is not None
    assert placement.fits
    assert not placement.remedies
    assert {part.device for part in placement.parts} == {"CPU"}
    assert placement.on("CPU") == big.total + small.total


def test_a_gpu_takes_all_layers_by_default(target: GgufHeader, draft: GgufHeader) -> None:
    everywhere = machine(CUDA0=ROOM)
    placement = where_it_goes(target, draft, LoadOptions(gpu_layers_draft=0), everywhere)
    on_gpu = {(part.model, part.what) for part in placement.parts if part.device == "CUDA0" and part.size}
    assert on_gpu == {("target", "weights"), ("target", "cache"), ("target", "buffers")}


def test_target_and_draft_may_go_to_different_devices(target: GgufHeader, draft: GgufHeader) -> None:
    options = LoadOptions(devices=("cuda0",), devices_draft=("CUDA1",))
    placement = where_it_goes(target, draft, options, machine(CUDA0=ROOM, CUDA1=ROOM))
    devices = {(part.model, part.device) for part in placement.parts}
    assert devices == {("target", "CPU"), ("target", "CUDA0"), ("draft", "CPU"), ("draft", "CUDA1")}


def test_several_gpus_share_by_the_given_split(target: GgufHeader) -> None:
    options = LoadOptions(tensor_split=(3.0, 1.0))
    placement = where_it_goes(target, None, options, machine(CUDA0=ROOM, CUDA1=ROOM))
    weights = {part.device: part.size for part in placement.parts if part.what == "weights"}
    assert weights["CUDA0"] == pytest.approx(3 * weights["CUDA1"], abs=2)


def test_what_is_missing_is_given_in_bytes(target: GgufHeader) -> None:
    needed = where_it_goes(target, None, LoadOptions(), machine()).on("CPU")
    placement = where_it_goes(target, None, LoadOptions(), machine(needed - 5))
    assert placement.over == {"CPU": 5}
    assert not placement.fits


def test_each_remedy_alone_makes_it_fit_and_is_no_larger_than_needed(target: GgufHeader, draft: GgufHeader) -> None:
    small = machine(CUDA0=90 * MB)
    placement = where_it_goes(target, draft, LoadOptions(gpu_layers_draft=0), small)
    assert placement.over.keys() == {"CUDA0"}
    found = {remedy.option: remedy.value for remedy in placement.remedies}
    assert {"n_ctx", "gpu_layers"} <= found.keys()
    options = LoadOptions(gpu_layers_draft=0)
    n_ctx, layers = int(found["n_ctx"]), int(found["gpu_layers"])
    assert where_it_goes(target, draft, replace(options, n_ctx=n_ctx), small).fits
    assert not where_it_goes(target, draft, replace(options, n_ctx=2 * n_ctx), small).fits
    assert where_it_goes(target, draft, replace(options, gpu_layers=layers), small).fits
    assert not where_it_goes(target, draft, replace(options, gpu_layers=layers + 1), small).fits


def test_of_a_mixture_as_few_experts_as_needed_stay_in_main_memory(target: GgufHeader) -> None:
    experts = tuple(replace(tensor, name=tensor.name.replace("ffn_up.", "ffn_up_exps.")) for tensor in target.tensors)
    mixture = replace(target, tensors=experts, metadata={**target.metadata, "llama.expert_count": 8})
    options = LoadOptions(n_ctx=2048)
    needed = where_it_goes(mixture, None, options, machine(CUDA0=ROOM)).on("CUDA0")
    placement = where_it_goes(mixture, None, options, small := machine(CUDA0=needed - MB))
    layers = next(int(remedy.value) for remedy in placement.remedies if remedy.option == "n_cpu_moe")
    assert where_it_goes(mixture, None, replace(options, n_cpu_moe=layers), small).fits
    assert not where_it_goes(mixture, None, replace(options, n_cpu_moe=layers - 1), small).fits


def test_a_smaller_cache_type_or_quantisation_is_offered_where_it_helps(target: GgufHeader) -> None:
    options = LoadOptions(n_ctx=32_768)
    needed = where_it_goes(target, None, options, machine()).on("CPU")
    remedies = where_it_goes(target, None, options, machine(needed - 10 * MB)).remedies
    assert Remedy("cache_type", "q8_0") in remedies
    assert Remedy("quantisation", "Q8_0") in remedies
    short = where_it_goes(target, None, options, machine(needed - 10 * MB), remedies=False)
    assert not short.fits
    assert short.remedies == ()


def test_where_nothing_helps_nothing_is_offered(target: GgufHeader) -> None:
    placement = where_it_goes(target, None, LoadOptions(), machine(MB))
    assert not placement.fits
    assert placement.remedies == ()
