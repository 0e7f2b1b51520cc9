"""What `/preset` does, with the user's real file."""

from pathlib import Path

import pytest

from specchat.chat.commands.changing import do_preset
from specchat.chat.commands.invocations import ApplyPreset, ForgetPreset, SavePreset
from specchat.errors import ConfigError
from specchat.settings.paths import presets_file
from specchat.settings.presets import BUILT_IN, read_presets
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings

RECOMMENDED = SamplingParams(temperature=0.6)
NOW = Settings(k=3, sampling=SamplingParams(temperature=0.4, top_k=7))


def test_a_saved_preset_can_be_applied() -> None:
    saved = do_preset(SavePreset("letters"), NOW, RECOMMENDED)
    assert saved.settings is None
    assert saved.words == "saved: /preset letters is temperature 0.4, top k 7"
    applied = do_preset(ApplyPreset("letters"), Settings(k=9), RECOMMENDED)
    assert applied.settings == Settings(k=9, sampling=NOW.sampling)


def test_the_list_names_every_preset_and_its_purpose() -> None:
    do_preset(SavePreset("letters"), NOW, RECOMMENDED)
    listed = do_preset(ApplyPreset(None), NOW, RECOMMENDED)
    assert listed.settings is None
    assert [line.partition(":")[0] for line in listed.words.splitlines()[1:]] == [
        *(preset.name for preset in BUILT_IN),
        "letters",
    ]


def test_a_removed_preset_is_no_longer_listed() -> None:
    do_preset(SavePreset("letters"), NOW, RECOMMENDED)
    do_preset(ForgetPreset("letters"), NOW, RECOMMENDED)
    assert read_presets() == BUILT_IN


@pytest.mark.parametrize("invocation", [SavePreset("greedy"), ForgetPreset("greedy")])
def test_built_in_presets_cannot_be_changed(invocation: SavePreset | ForgetPreset) -> None:
    with pytest.raises(ConfigError, match="'greedy' is built in"):
        do_preset(invocation, NOW, RECOMMENDED)
    assert not Path(presets_file()).exists()
