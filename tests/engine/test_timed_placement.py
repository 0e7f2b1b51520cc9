"""`placement` auto: both models are timed in each place, and go where most tokens a second are to be expected."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions
from specchat_engine.errors import SettingError
from specchat_engine.gguf import read_model
from specchat_engine.memory.placement import DeviceMemory, Machine
from specchat_engine.timed_placement import PlaceTimes, fastest, timed_placement

ROOM = 2**40
GPU, CPU = -1, 0
WAYS = [
    LoadOptions(gpu_layers=of_target, gpu_layers_draft=of_draft) for of_target in (GPU, CPU) for of_draft in (GPU, CPU)
]


def machine(gpu: int) -> Machine:
    """A machine with a GPU that has so many bytes free. A build without GPUs computes there on the CPU."""
    return Machine((DeviceMemory("CPU", "cpu", ROOM, ROOM), DeviceMemory("GPU0", "gpu", gpu, gpu)))


def times(plain_ms: float) -> PlaceTimes:
    return PlaceTimes(plain_ms, 1.5 * plain_ms)


@pytest.mark.parametrize(
    ("of_target", "of_draft", "expected"),
    [
        ({GPU: 5, CPU: 50}, {GPU: 0.5, CPU: 2}, (GPU, GPU)),
        ({GPU: 5, CPU: 50}, {GPU: 2, CPU: 0.5}, (GPU, CPU)),
        ({GPU: 90, CPU: 20}, {GPU: 1, CPU: 3}, (CPU, GPU)),
        ({GPU: 90, CPU: 20}, {GPU: 9, CPU: 3}, (CPU, CPU)),
    ],
)
def test_each_model_goes_where_it_is_faster(
    of_target: dict[int, float], of_draft: dict[int, float], expected: tuple[int, int]
) -> None:
    targets, drafts = ({place: times(ms) for place, ms in model.items()} for model in (of_target, of_draft))
    chosen, _ = fastest(WAYS, targets, drafts, 36)
    assert (chosen.gpu_layers, chosen.gpu_layers_draft) == expected


def test_a_draft_that_never_pays_still_goes_where_it_is_faster() -> None:
    chosen, _ = fastest(WAYS, {GPU: times(1), CPU: times(9)}, {GPU: times(20), CPU: times(10)}, 36)
    assert (chosen.gpu_layers, chosen.gpu_layers_draft) == (GPU, CPU)


def test_a_place_in_which_a_model_cannot_be_loaded_is_not_chosen() -> None:
    chosen, because = fastest(WAYS, {CPU: times(30)}, {GPU: times(1), CPU: times(2)}, 36)
    assert (chosen.gpu_layers, chosen.gpu_layers_draft) == (CPU, GPU)
    assert because == (
        "Placed by the time of a token: the target on the CPU (30 ms), "
        "the draft model on the GPU (1.0 ms; 2.0 ms on the CPU)."
    )


def test_without_a_gpu_nothing_is_timed_and_nothing_said() -> None:
    options = LoadOptions(placement="auto", n_ctx=512)
    with Engine.load(*builtin_pair(), options) as engine:
        assert engine.options == options
        assert engine.notices == ()


def test_the_engine_loads_the_models_there_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.engine.this_machine", lambda: machine(ROOM))
    with Engine.load(*builtin_pair(), LoadOptions(placement="auto", n_ctx=512)) as engine:
        (notice,) = engine.notices
        assert notice.startswith("Placed by the time of a token: the target on the ")
        assert {engine.options.gpu_layers, engine.options.gpu_layers_draft} <= {GPU, CPU}
        assert ("the target on the GPU" in notice) is (engine.options.gpu_layers == GPU)


def test_both_models_are_timed_in_both_places() -> None:
    target, draft = ((path, read_model(path)) for path in builtin_pair())
    options = LoadOptions(n_ctx=512)
    chosen, because = timed_placement(options, target, draft, machine(ROOM))
    assert replace(chosen, gpu_layers=-1, gpu_layers_draft=-1) == options
    assert because.count(" ms") == 4


def test_of_a_target_that_is_too_large_for_the_gpu_as_many_layers_as_fit_are_timed() -> None:
    target = builtin_pair()[0], read_model(builtin_pair()[0])
    size = sum(tensor.size or 0 for tensor in target[1].tensors)
    _, because = timed_placement(LoadOptions(n_ctx=512), target, None, machine(size))
    assert f" of {target[1].layers} layers on the GPU" in because
    assert "draft" not in because


def test_tensors_of_the_target_that_stay_elsewhere_do_so_while_it_is_timed() -> None:
    target = builtin_pair()[0], read_model(builtin_pair()[0])
    with pytest.raises(SettingError, match="there is no device 'NOWHERE'"):
        timed_placement(LoadOptions(tensor_overrides=("ffn=NOWHERE",)), target, None, machine(ROOM))


def test_a_placement_that_was_chosen_finds_the_records_of_the_same_layers() -> None:
    with Engine.load(*builtin_pair(), LoadOptions(n_ctx=512)) as engine:
        given = engine.identity
    with Engine.load(*builtin_pair(), LoadOptions(n_ctx=512, placement="auto")) as engine:
        assert engine.identity == given
    assert "placement" not in given
