"""Where a pair's weights, caches and buffers will be placed, which device overflows, and what would make them fit.

Like llama.cpp it puts layers on GPUs from the last one on, and spreads them over several GPUs by `tensor_split` or by
their free memory. The share of each GPU is accurate to about a layer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from specchat_engine.errors import ModelFileError
from specchat_engine.gguf import GgufHeader
from specchat_engine.load_options import HOST, LoadOptions
from specchat_engine.memory.estimate import Footprint, Use, estimate

_SMALLEST_CONTEXT = 2048
_BITS: Final = {
    "F32": 32.0,
    "F16": 16.0,
    "BF16": 16.0,
    "Q8_0": 8.5,
    "Q6_K": 6.6,
    "Q5_K_M": 5.7,
    "Q4_K_M": 4.9,
    "Q3_K_M": 3.9,
    "Q2_K": 3.2,
}
"""Approximate bits per weight in files of this quantisation, in descending order."""


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """One device as llama.cpp names it, and its free and total memory in bytes.

    `kind` is cpu, gpu, integrated gpu, accelerator or meta.
    """

    name: str
    kind: str
    free: int
    total: int
    description: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """The devices that models can be placed on: main memory first, then GPUs. `repacked` is as in `Use`."""

    devices: tuple[DeviceMemory, ...]
    repacked: Collection[str] = ()

    @property
    def host(self) -> DeviceMemory:
        """The computer's own memory."""
        return next((device for device in self.devices if device.kind == "cpu"), DeviceMemory(HOST, "cpu", 0, 0))

    def gpus(self, names: Sequence[str] = ()) -> list[DeviceMemory]:
        """The GPUs with these names, all of them if none are given."""
        wanted = {name.lower() for name in names}
        gpus = [device for device in self.devices if device.kind in ("gpu", "integrated gpu")]
        return [device for device in gpus if not wanted or device.name.lower() in wanted]


@dataclass(frozen=True, slots=True)
class PlacedBytes:
    """Some bytes of one model on one device. `model` is target or draft, `what` is weights, cache or buffers."""

    model: str
    what: str
    device: str
    size: int


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change of one option that makes it fit: `n_ctx` 8192, `cache_type` q8_0, `n_cpu_moe` 12, `gpu_layers` 20, a
    `quantisation`."""

    option: str
    value: int | str


@dataclass(frozen=True, slots=True)
class Placement:
    """What is placed where. `over` has the devices with too little memory and how much is missing, in bytes."""

    parts: tuple[PlacedBytes, ...]
    over: Mapping[str, int]
    remedies: tuple[Remedy, ...]

    @property
    def fits(self) -> bool:
        """Whether every device has room."""
        return not self.over

    def on(self, device: str) -> int:
        """Bytes on one device."""
        return sum(part.size for part in self.parts if part.device == device)


def where_it_goes(
    target: GgufHeader, draft: GgufHeader | None, options: LoadOptions, machine: Machine, *, remedies: bool = True
) -> Placement:
    """Where a pair would be placed with these options and, if it does not fit, single changes that would help.

    Looking for `remedies` takes up to a second with GPUs.
    """
    parts = tuple(_parts(target, draft, options, machine))
    over = _over(parts, machine)
    helpful = tuple(_remedies(target, draft, options, machine)) if over and remedies else ()
    return Placement(parts, over, helpful)


def footprints(
    target: GgufHeader, draft: GgufHeader | None, options: LoadOptions, machine: Machine
) -> tuple[Footprint, Footprint | None]:
    """The memory of the target and of the draft."""
    gpu, gpu_draft = bool(machine.gpus(options.devices)), bool(machine.gpus(options.devices_draft))
    big = estimate(target, Use.of(options, target, gpu=gpu, repacked=machine.repacked))
    if draft is None:
        return big, None
    use = Use.of(options, draft, draft_of=target, gpu=gpu_draft, repacked=machine.repacked)
    return big, estimate(draft, use)


def halves(n_ctx: int, smallest: int) -> Iterator[int]:
    """A half of a context, a quarter and so on, down to the smallest."""
    while n_ctx // 2 >= smallest:
        n_ctx //= 2
        yield n_ctx


def _parts(
    target: GgufHeader, draft: GgufHeader | None, options: LoadOptions, machine: Machine
) -> Iterator[PlacedBytes]:
    big, small = footprints(target, draft, options, machine)
    yield from _spread("target", big, machine.gpus(options.devices), options.tensor_split, machine)
    if small:
        yield from _spread("draft", small, machine.gpus(options.devices_draft), (), machine)


def _spread(
    model: str, taken: Footprint, gpus: Sequence[DeviceMemory], split: Sequence[float], machine: Machine
) -> Iterator[PlacedBytes]:
    host, gpu = taken.host, taken.gpu
    yield PlacedBytes(model, "weights", machine.host.name, host.weights + host.repacked)
    yield PlacedBytes(model, "cache", machine.host.name, host.cache)
    yield PlacedBytes(model, "buffers", machine.host.name, host.compute + host.other)
    shares = [split[index] if index < len(split) else 0.0 for index in range(len(gpus))] if split else []
    if not sum(shares):
        shares = [float(device.free) or 1.0 for device in gpus]
    for device, share in zip(gpus, shares, strict=True):
        part = share / sum(shares)
        if gpu.total and part:
            yield PlacedBytes(model, "weights", device.name, round(gpu.weights * part))
            yield PlacedBytes(model, "cache", device.name, round(gpu.cache * part))
            yield PlacedBytes(model, "buffers", device.name, gpu.compute)


def _over(parts: Sequence[PlacedBytes], machine: Machine) -> dict[str, int]:
    needed: dict[str, int] = {}
    for part in parts:
        needed[part.device] = needed.get(part.device, 0) + part.size
    free = {device.name: device.free for device in machine.devices}
    return {name: size - free.get(name, 0) for name, size in needed.items() if size > free.get(name, 0)}


def _remedies(target: GgufHeader, draft: GgufHeader | None, options: LoadOptions, machine: Machine) -> Iterator[Remedy]:
    def fits(changed: LoadOptions, big: GgufHeader = target) -> bool:
        return not _over(tuple(_parts(big, draft, changed, machine)), machine)

    for n_ctx in halves(options.n_ctx or target.n_ctx_train, _SMALLEST_CONTEXT):
        if fits(replace(options, n_ctx=n_ctx)):
            yield Remedy("n_ctx", n_ctx)
            break
    if options.cache_type_k == "f16" and options.flash_attention != "off":
        for name in ("q8_0", "q4_0"):
            if fits(replace(options, cache_type_k=name, cache_type_v=name)):
                yield Remedy("cache_type", name)
                break
    if machine.gpus(options.devices) and target.experts and options.n_cpu_moe >= 0:
        for layers in range(options.n_cpu_moe + 1, target.layers + 1):
            if fits(replace(options, n_cpu_moe=layers)):
                yield Remedy("n_cpu_moe", layers)
                break
    if machine.gpus(options.devices) and options.gpu_layers:
        most = target.layers if options.gpu_layers < 0 else options.gpu_layers - 1
        for layers in range(most, -1, -1):
            if fits(replace(options, gpu_layers=layers)):
                yield Remedy("gpu_layers", layers)
                break
    bits = _BITS.get(target.quantisation, 0.0)
    for name, fewer in _BITS.items():
        if fewer < bits and fits(options, _shrunk(target, fewer / bits)):
            yield Remedy("quantisation", name)
            break


def _shrunk(header: GgufHeader, share: float) -> GgufHeader:
    """The header of the same model with smaller weights."""
    tensors = tuple(replace(tensor, size=round((tensor.size or 0) * share)) for tensor in header.tensors)
    return replace(header, tensors=tensors)


_SHORTEST = 1024
"""A context that does not fit is halved, down to about this many tokens."""

_SPARE = 8
"""Caches and buffers may take an eighth of the free memory even if the weights need all of it: those are mapped from
their files, so the system can drop and read them again."""


def fit_context(
    target: GgufHeader,
    draft: GgufHeader | None,
    options: LoadOptions,
    machine: Machine,
    further: Sequence[GgufHeader] = (),
    projector: int = 0,
) -> tuple[LoadOptions, str]:
    """The options to load a pair with, and why their context is shorter than the model's own; empty if it is not.

    `further` are more draft models, and a `projector` of this many bytes is loaded too. Only main memory is looked at,
    because the estimate for GPUs is too coarse. Raises ModelFileError if a context that the options name does not fit,
    or none does.
    """
    free = machine.host.free and max(machine.host.free - projector, 1)
    wanted = options.n_ctx or target.n_ctx_train

    def taken(n_ctx: int) -> tuple[int, int]:
        """Bytes of main memory: the weights, and everything beside them."""
        shorter = replace(options, n_ctx=n_ctx)
        parts = [*where_it_goes(target, draft, shorter, machine).parts]
        for further_draft in further:
            beside = where_it_goes(target, further_draft, shorter, machine).parts
            parts += (part for part in beside if part.model == "draft")
        here = [part for part in parts if part.device == machine.host.name]
        weights = sum(part.size for part in here if part.what == "weights")
        return weights, sum(part.size for part in here) - weights

    def fits(n_ctx: int) -> bool:
        weights, others = taken(n_ctx)
        return others <= max(free - weights, free // _SPARE)

    if not (free and wanted and target.layers) or fits(wanted):
        return options, ""
    size = (
        f"a context of {wanted:,} tokens takes {taken(wanted)[1] / 1e9:.1f} GB beside the weights, {free / 1e9:.1f} GB"
    )
    longest = next(filter(fits, halves(wanted, _SHORTEST)), None)
    if longest is None:
        raise ModelFileError(f"{size} are free, and a shorter one does not help: use a smaller model")
    if options.n_ctx:
        raise ModelFileError(f"{size} are free in all: use -c {longest}, or -ctk q8_0 -ctv q8_0")
    return replace(options, n_ctx=longest), f"The context has {longest:,} tokens: {size} are free in all."
