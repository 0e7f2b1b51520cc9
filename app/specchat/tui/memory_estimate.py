"""How much memory a pair would take with other options. Blocks: call it in a thread."""

from __future__ import annotations

from dataclasses import replace

from textual.content import Content

from specchat.models.labels import format_size
from specchat.models.machine import ask_machine
from specchat.settings.options import ChatOptions
from specchat_engine.errors import EngineError
from specchat_engine.gguf import read_model
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import DeviceMemory, Machine, Placement, Remedy, where_it_goes


def memory_words(loaded: ChatOptions, wanted: LoadOptions) -> Content:
    """A line such as `takes 1.2 GB of 3.4 GB on CPU`, with remedies if the pair does not fit.

    The memory of the loaded pair counts as free.
    """
    try:
        target = read_model(loaded.target)
        draft = read_model(loaded.draft) if loaded.draft else None
    except EngineError as error:
        return Content(str(error))
    machine = ask_machine().machine
    present = where_it_goes(target, draft, loaded.load, machine)
    freed = Machine(tuple(_with_free(device, present) for device in machine.devices), machine.repacked)
    return placed(where_it_goes(target, draft, wanted, freed), freed)


def placed(placement: Placement, machine: Machine) -> Content:
    """A line for each device that is used."""
    lines = []
    for device in machine.devices:
        needed = placement.on(device.name)
        if needed:
            words = f"takes {format_size(needed)} of {format_size(device.free)} on {device.name}"
            over = device.name in placement.over
            lines.append(Content.styled(f"✗ {words}" if over else words, "$text-warning" if over else "$quiet"))
    if placement.over and placement.remedies:
        lines.append(
            Content.styled(f"or {', or '.join(_words(remedy) for remedy in placement.remedies)}", "$text-warning")
        )
    return Content("\n").join(lines)


def _with_free(device: DeviceMemory, present: Placement) -> DeviceMemory:
    return replace(device, free=min(device.total, device.free + present.on(device.name)))


def _words(remedy: Remedy) -> str:
    names = {
        "n_ctx": "context",
        "n_cpu_moe": "experts, CPU",
        "gpu_layers": "GPU layers",
        "cache_type": "cache",
        "quantisation": "a target in",
    }
    return f"{names.get(remedy.option, remedy.option)} {remedy.value}"
