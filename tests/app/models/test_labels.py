from __future__ import annotations

import pytest

from specchat.models.labels import (
    brief_name,
    brief_pair,
    format_duration,
    format_parameters,
    format_size,
    model_name,
    pair_name,
)
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


def test_a_size_in_the_name_is_not_repeated_and_another_number_does_not_hide_it() -> None:
    for name in ("specchat-guide 18M", "Qwen3 0.6B Instruct", "smol-135m"):
        assert model_name(ModelInfo(name, "m.gguf", n_params=18_000_000)) == name
    assert model_name(ModelInfo("phi-3 128k", "m.gguf", n_params=int(3.8e9))) == "phi-3 128k 3.8B"


@pytest.mark.parametrize(
    ("name", "brief"),
    [
        ("Qwen2.5 Coder 0.5B Instruct AWQ", "Qwen2.5 Coder 0.5B"),
        ("Smollm2 135M 8k Lc100K Mix1 Ep2", "Smollm2 135M"),
        ("Qwen3 30B A3B Instruct 2507", "Qwen3 30B A3B"),
        ("Qwen3-4B-Thinking-2507", "Qwen3-4B"),
        ("Phi 3.5 Instruct", "Phi 3.5 Instruct 490M"),
    ],
)
def test_a_brief_name_ends_with_the_size(name: str, brief: str) -> None:
    assert brief_name(ModelInfo(name, "m.gguf", n_params=490_000_000)) == brief


def test_a_brief_pair_says_the_family_once_and_never_a_size_alone() -> None:
    coder = ModelInfo("Qwen2.5 Coder 1.5B Instruct GGUF", "t.gguf")
    small, other = ModelInfo("Qwen2.5 Coder 0.5B Instruct AWQ", "d.gguf"), ModelInfo("Qwen3 0.6B", "o.gguf")
    assert brief_pair(coder, small) == "Qwen2.5 Coder 1.5B ⇠ Coder 0.5B"
    assert brief_pair(coder, small, "eagle3", [other]) == "Qwen2.5 Coder 1.5B ⇠ Coder 0.5B + Qwen3 0.6B + EAGLE-3"
    assert brief_pair(ModelInfo("Qwen3 4B", "t.gguf"), other) == "Qwen3 4B ⇠ Qwen3 0.6B"
    assert brief_pair(coder, None) == "Qwen2.5 Coder 1.5B"


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
