from __future__ import annotations

import pytest

from specchat.models.formatting import format_duration, format_parameters, format_size, model_name, pair_name
from specchat_engine.load_options import ModelInfo


def test_the_name_of_a_pair_starts_with_the_target() -> None:
    guide, draft = ModelInfo("guide", "g.gguf", n_params=18_000_000), ModelInfo("small", "s.gguf")
    assert pair_name(guide, draft) == "guide 18M ⇠ small"
    assert pair_name(guide, draft, "eagle3", [draft]) == "guide 18M ⇠ small + small + EAGLE-3"
    assert pair_name(guide, None) == "guide 18M"


@pytest.mark.parametrize(
    ("size", "name"), [(0, "m"), (91_000, "m 91k"), (18e6, "m 18M"), (6e8, "m 600M"), (4e9, "m 4.0B")]
)
def test_a_model_is_named_with_its_size(size: float, name: str) -> None:
    assert model_name(ModelInfo("m", "m.gguf", n_params=int(size))) == name


@pytest.mark.parametrize("name", ["specchat-guide 18M", "Qwen3 0.6B Instruct", "smol-135m"])
def test_a_size_in_the_name_is_not_repeated(name: str) -> None:
    assert model_name(ModelInfo(name, "m.gguf", n_params=18_000_000)) == name


def test_another_number_in_the_name_does_not_hide_the_size() -> None:
    assert model_name(ModelInfo("phi-3 128k", "m.gguf", n_params=int(3.8e9))) == "phi-3 128k 3.8B"


def test_a_hostile_model_name_cannot_move_the_cursor() -> None:
    assert "\x1b" not in model_name(ModelInfo("\x1b[2Jm\n", "m.gguf"))


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (188_000, "188.0 kB"),
        (4.4e9, "4.4 GB"),
        (2e12, "2.0 TB"),
        (2**63, "9.2 EB"),
    ],
)
def test_sizes_are_formatted_as_on_the_hub(size: float, words: str) -> None:
    assert format_size(size) == words


@pytest.mark.parametrize(("seconds", "words"), [(7.4, "0:07"), (750, "12:30"), (7500, "2:05:00")])
def test_durations_are_formatted_as_on_a_clock(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (None, ""),
        (0, ""),
        (1_540_000_000, "1.54B"),
        (135e6, "135M"),
        (999_700_000, "1000M"),
        (1_030_000_000_000, "1.03T"),
        (2**63, "9223372T"),
    ],
)
def test_parameters_are_formatted_as_in_names(number: int | None, words: str) -> None:
    assert format_parameters(number) == words
