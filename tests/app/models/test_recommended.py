"""The known pairs that fit a machine."""

from __future__ import annotations

from specchat.models.machine import Place
from specchat.models.recommended import basis, few, suggestions
from specchat_assets.catalog import catalog
from specchat_assets.catalog.fits import fits
from specchat_engine.memory.placement import DeviceMemory, Machine
from specchat_engine.pairing.judge import best_speedup

GB = 10**9


def place(memory: int, bandwidth: float | None, gpu: int = 0) -> Place:
    devices = [DeviceMemory("CPU", "cpu", memory, memory)]
    if gpu:
        devices.append(DeviceMemory("CUDA0", "gpu", gpu, gpu))
    return Place(Machine(tuple(devices)), 2, bandwidth)


def test_each_target_is_offered_once_with_names_that_the_hub_takes() -> None:
    found = suggestions(place(24 * GB, 20 * GB))
    targets = [one.recommendation.pair.target.id for one in found]
    assert len(targets) == len({*targets}) > 3
    assert all(one.target.count("/") == 1 and ":" in one.target for one in found)
    assert all(one.recommendation.memory <= 24 * GB for one in found)


def test_the_draft_with_the_highest_expected_gain_is_offered() -> None:
    there = place(200 * GB, 400 * GB)
    every = fits(catalog(), there.memory, 400.0 * GB, lambda alpha, cost: best_speedup(alpha, cost)[0])
    promised = {
        one.recommendation.pair.target.id: one.recommendation.speedup or 0.0 for one in suggestions(there, limit=1000)
    }
    several = {one.pair.target.id for one in every if (one.speedup or 0.0) < promised[one.pair.target.id]}
    assert several
    assert all((one.speedup or 0.0) <= promised[one.pair.target.id] for one in every)


def test_a_title_names_only_what_differs_in_the_draft() -> None:
    titles = {one.title for one in suggestions(place(24 * GB, 20 * GB))}
    assert "Qwen3 4B Q4_K_M + 0.6B" in titles
    assert "Llama 3.1 8B Q4_K_M + 3.2 1B" in titles


def test_only_a_known_gain_is_shown() -> None:
    found = suggestions(place(24 * GB, 20 * GB))
    for one in found:
        known = one.recommendation.speedup is not None
        assert ("× plain" in one.speed) is (known and one.recommendation.speedup >= 1)  # type: ignore[operator]
        assert "tok/s" in one.speed
    assert {one.recommendation.speedup is None for one in found} == {True, False}


def test_a_gpu_limits_the_memory_and_has_no_expected_speed() -> None:
    there = place(64 * GB, 20 * GB, gpu=6 * GB)
    found = suggestions(there)
    assert found
    assert all(one.recommendation.memory <= 6 * GB for one in found)
    assert not any("tok/s" in one.speed for one in found)
    assert "not known before" in basis(there)
    assert "CUDA0 6 GB" in there.words


def test_a_few_suggestions_are_of_different_families_known_gains_first() -> None:
    chosen = few(suggestions(place(24 * GB, 20 * GB)))
    families = [one.recommendation.pair.target.family for one in chosen]
    assert len(families) == len({*families}) == 3
    assert chosen[0].recommendation.speedup is not None
    assert chosen[0].recommendation.speedup > 1


def test_nothing_fits_without_memory() -> None:
    assert suggestions(place(10**8, 20 * GB)) == []
    assert few([]) == []
