"""`/preset`: sampling parameters by name."""

from __future__ import annotations

from collections.abc import Iterable

from specchat.chat.commands.command import (
    SAVE,
    Command,
    StoredAction,
    forgettable,
    saved_or_forgotten,
    settings_in_force,
    stored,
)
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.settings.presets import (
    apply,
    find_preset,
    forget_preset,
    is_built_in,
    preset_of,
    read_presets,
    save_preset,
)


def _read(argument: str, sources: Sources) -> StoredAction:
    known = tuple(sources.presets())
    is_name = any(argument.lower() == name.lower() for name, _ in known)
    return (None if is_name else saved_or_forgotten(argument, known, "preset")) or stored(argument, known, "preset")


async def _run(chat: ChatController, ui: FrontEnd, preset: StoredAction) -> None:
    settings, loaded = settings_in_force(chat, ui), chat.session.loaded
    if settings is None or loaded is None:
        return
    match preset.action:
        case "save":
            saved = preset_of(preset.name, settings.sampling)
            save_preset(saved)
            ui.note(f"saved: /preset {saved.name} is {saved.sentence}")
        case "forget":
            forget_preset(preset.name)
            ui.note(f"removed: {preset.name}")
        case "use":
            ui.apply(apply(settings, find_preset(preset.name), loaded.recommended))
            ui.note(f"{preset.name} from the next round on")
        case "list":
            listed = (f"{known.name}: {known.sentence}" for known in read_presets())
            ui.notice("\n".join(("/preset NAME applies one of these:", *listed)))


def _presets(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    known = tuple(sources.presets())
    own = (preset for preset in known if not is_built_in(preset[0]))
    return (*known, (f"{SAVE} ", "NAME: saves the sampling as it is now"), *forgettable(own))


PRESET = Command(
    "preset",
    "[save|forget] [NAME]",
    "Presets of sampling parameters: list, apply, save or remove them.",
    _read,
    _run,
    order=130,
    words=(_presets,),
    plain=True,
)
