"""Presets: what they set, what they leave alone, and the file that holds the user's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specchat.errors import ConfigError
from specchat.settings import presets
from specchat.settings.presets import (
    BUILT_IN,
    Preset,
    apply,
    find_preset,
    forget_preset,
    preset_of,
    read_presets,
    save_preset,
)
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings

RECOMMENDED = SamplingParams(temperature=0.6, top_k=20, min_p=0.0)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config" / "presets.toml"
    monkeypatch.setattr(presets, "presets_file", lambda: path)
    return path


def own(name: str, **values: float) -> Preset:
    return preset_of(name, replace(SamplingParams(), **values))


@pytest.mark.parametrize("preset", BUILT_IN, ids=lambda preset: preset.name)
def test_a_built_in_preset_can_be_applied_and_says_what_it_is_for(preset: Preset) -> None:
    applied = apply(Settings(k=3), preset, RECOMMENDED)
    assert applied.k == 3
    assert preset.sentence.endswith(".")
    assert preset.built_in


def test_each_built_in_preset_samples_differently() -> None:
    by_name = {preset.name: apply(Settings(), preset, RECOMMENDED).sampling for preset in BUILT_IN}
    assert len(set(by_name.values())) == len(BUILT_IN)
    assert by_name["recommended"] == RECOMMENDED
    assert by_name["balanced"] == SamplingParams()
    assert by_name["greedy"].temperature == 0
    assert by_name["precise"].temperature < by_name["balanced"].temperature < by_name["creative"].temperature


def test_a_preset_keeps_the_grammar_and_the_biases() -> None:
    sampling = SamplingParams(grammar='root ::= "a"', logit_bias=((3, 1.0),), temperature=2.0)
    applied = apply(Settings(sampling=sampling), find_preset("recommended"), RECOMMENDED)
    assert applied.sampling == replace(RECOMMENDED, grammar='root ::= "a"', logit_bias=((3, 1.0),))


def test_a_saved_preset_is_found_again_after_the_built_in_ones_and_replaces_that_of_its_name(file: Path) -> None:
    save_preset(own("stories", temperature=0.2))
    save_preset(own("stories", temperature=1.3))
    save_preset(own("Code", temperature=0.1, top_k=5))
    assert [preset.name for preset in read_presets()] == [*(one.name for one in BUILT_IN), "Code", "stories"]
    assert find_preset("stories").values["temperature"] == 1.3
    assert find_preset("Code").sentence == "temperature 0.1, top k 5"


def test_the_model_recommends_what_a_preset_leaves_out(file: Path) -> None:
    save_preset(Preset("only top-k", "", {"top_k": 7}))
    applied = apply(Settings(), find_preset("only top-k"), RECOMMENDED)
    assert applied.sampling == replace(RECOMMENDED, top_k=7)


def test_a_forgotten_preset_is_gone_and_the_others_stay(file: Path) -> None:
    save_preset(own("one"))
    save_preset(own("two"))
    forget_preset("one")
    assert [preset.name for preset in read_presets() if not preset.built_in] == ["two"]
    with pytest.raises(ConfigError, match="no preset 'one'"):
        forget_preset("one")


@pytest.mark.parametrize("name", ["", "  ", "greedy", "two\nlines", "x" * 41, "\x1b[31m"])
def test_an_unusable_name_is_rejected(file: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        preset_of(name, SamplingParams())
    with pytest.raises(ConfigError):
        save_preset(Preset(name, "", {}))
    assert not file.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[mine", "not valid TOML"),
        ("\xff\xfe", "not valid TOML"),
        ("mine = 3", "use a table"),
        ("[mine]\ntemperature = -1", "temperature of the preset 'mine' is -1: use a number from 0 to 100"),
        ("[mine]\ntemperature = nan", "temperature of the preset 'mine' is nan"),
        ("[mine]\ntemprature = 1", "sets temprature: known are temperature"),
        ("[mine]\ntop_k = 1.5", "use a whole number"),
        ("[mine]\ntop_p = true", "use a number"),
        ("[greedy]\ntop_p = 1", "built in"),
    ],
)
def test_a_bad_file_is_reported_in_one_line_and_never_overwritten(file: Path, text: str, message: str) -> None:
    file.parent.mkdir()
    file.write_text(text, "latin-1")
    with pytest.raises(ConfigError, match=message) as caught:
        read_presets()
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError):
        save_preset(own("other"))
    assert file.read_text("latin-1") == text


def test_a_failed_write_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_preset(own("kept"))
    before = file.read_text()

    def full(self: Path, data: str, encoding: str) -> int:
        with self.open("w") as half:
            half.write(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ConfigError, match="No space left"):
        save_preset(own("lost"))
    assert file.read_text() == before
    assert [*file.parent.iterdir()] == [file]


@given(
    name=st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=40),
    temperature=st.floats(0, 100),
    top_k=st.integers(0, 2**31 - 1),
    repeat_penalty=st.floats(1e-3, 100),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
def test_any_preset_is_read_back_as_it_was_saved(
    file: Path, name: str, temperature: float, top_k: int, repeat_penalty: float
) -> None:
    sampling = SamplingParams(temperature=temperature, top_k=top_k, repeat_penalty=repeat_penalty)
    preset = Preset(name, "", preset_of("any", sampling).values)
    if any(one.name == name for one in BUILT_IN):
        return
    save_preset(preset)
    assert apply(Settings(), find_preset(name), RECOMMENDED).sampling == sampling
