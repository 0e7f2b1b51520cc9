from __future__ import annotations

import pytest

from specchat.models.naming import model_name, pair_name
from specchat.worker.protocol import ModelSummary


def test_a_pair_is_named_target_first_and_a_target_alone_by_itself() -> None:
    guide, draft = ModelSummary("guide", "g.gguf", n_params=18_000_000), ModelSummary("small", "s.gguf")
    assert pair_name(guide, draft) == "guide 18M ⇠ small"
    assert pair_name(guide, None) == "guide 18M"


@pytest.mark.parametrize(
    ("size", "name"), [(0, "m"), (91_000, "m 91k"), (18e6, "m 18M"), (6e8, "m 600M"), (4e9, "m 4.0B")]
)
def test_a_model_is_named_with_its_size(size: float, name: str) -> None:
    assert model_name(ModelSummary("m", "m.gguf", n_params=int(size))) == name


@pytest.mark.parametrize("name", ["specchat-guide 18M", "Qwen3 0.6B Instruct", "smol-135m"])
def test_a_size_in_the_name_is_not_said_twice(name: str) -> None:
    assert model_name(ModelSummary(name, "m.gguf", n_params=18_000_000)) == name


def test_a_number_in_the_name_that_is_no_size_does_not_hide_the_size() -> None:
    assert model_name(ModelSummary("phi-3 128k", "m.gguf", n_params=int(3.8e9))) == "phi-3 128k 3.8B"


def test_a_hostile_model_name_cannot_move_the_cursor() -> None:
    assert "\x1b" not in model_name(ModelSummary("\x1b[2Jm\n", "m.gguf"))
