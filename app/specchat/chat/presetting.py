"""What `/preset` does: list, apply, save and remove presets of sampling parameters."""

from __future__ import annotations

from dataclasses import dataclass

from specchat.chat.commands.invocations import ApplyPreset, ForgetPreset, SavePreset
from specchat.settings.presets import apply, find_preset, forget_preset, preset_of, read_presets, save_preset
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings

OfPresets = ApplyPreset | SavePreset | ForgetPreset


@dataclass(frozen=True, slots=True)
class PresetDone:
    """What to say to the user, in one line or more, and the settings if they have changed."""

    words: str
    settings: Settings | None = None


def do_preset(invocation: OfPresets, settings: Settings, recommended: SamplingParams) -> PresetDone:
    """Does what a command asks for; `recommended` is what the loaded model recommends.

    Raises ConfigError if it cannot be done.
    """
    match invocation:
        case SavePreset(name):
            preset = preset_of(name, settings.sampling)
            save_preset(preset)
            return PresetDone(f"saved: /preset {preset.name} is {preset.sentence}")
        case ForgetPreset(name):
            forget_preset(name)
            return PresetDone(f"removed: {name}")
        case ApplyPreset(name) if name is not None:
            return PresetDone(f"{name} from the next round on", apply(settings, find_preset(name), recommended))
        case _:
            listed = [f"{preset.name}: {preset.sentence}" for preset in read_presets()]
            return PresetDone("\n".join(["/preset NAME applies one of these:", *listed]))
