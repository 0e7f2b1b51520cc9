"""Chooses by the clock where target and draft model compute: on the GPU or on the CPU, each by itself.

Which of them is faster depends on both models and on both devices: an integrated GPU may be slower than the CPU beside
it, and a small draft model may take as long on a fast GPU as on a CPU, where it leaves the GPU's memory to the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from specchat_engine.analysis.theory import expected_tokens
from specchat_engine.errors import ModelFileError
from specchat_engine.gguf import GgufHeader
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import Machine, where_it_goes
from specchat_engine.policy.calibration import pass_ms
from specchat_engine.settings import USUAL_K
from specchat_engine.threads.processors import read_processors

_ALL, _NONE = -1, 0
"""Numbers of layers on the GPU."""

_ALPHA: Final = 0.75
"""The α for comparing placements. A fair draft model has it on prose."""

_N_CTX, _REPEATS = 256, 3


@dataclass(frozen=True, slots=True)
class PlaceTimes:
    """Milliseconds of a model's passes in one place: over one token, and over the tokens of a round."""

    plain_ms: float
    round_ms: float


ModelFile = tuple[Path, GgufHeader]
Progress = Callable[[float], bool]

Times = Mapping[int, PlaceTimes]
"""The times of a model by the number of its layers on the GPU."""


def timed_placement(
    options: LoadOptions, target: ModelFile, draft: ModelFile | None, machine: Machine, progress: Progress | None = None
) -> tuple[LoadOptions, str]:
    """Returns the options with the number of layers on the GPU that promises most tokens a second, and the reason.

    Without a GPU the options are unchanged, and nothing is timed. Each model is loaded once for each place. `progress`
    is as for `Engine.load`. Raises ModelFileError and Cancelled.
    """
    if not machine.gpus(options.devices):
        return options, ""
    candidates = list(_candidates(options, target[1], draft[1] if draft else None, machine))
    layers = {candidate.gpu_layers for candidate in candidates}
    layers_draft = {candidate.gpu_layers_draft for candidate in candidates}
    targets = _timed(target, layers, options.devices, progress, options.overrides)
    drafts = _timed(draft, layers_draft, options.devices_draft, progress) if draft else None
    return fastest(candidates, targets, drafts, target[1].layers)


def fastest(
    candidates: list[LoadOptions], targets: Times, drafts: Times | None, layers: int
) -> tuple[LoadOptions, str]:
    """Returns the fastest of some options by these times, and the reason. `layers` is the number of the target's."""
    usable = (
        candidate
        for candidate in candidates
        if candidate.gpu_layers in targets and (not drafts or candidate.gpu_layers_draft in drafts)
    )
    best = max(usable, key=lambda candidate: rates(candidate, targets, drafts))
    words = [f"the target {_where(best.gpu_layers, layers)}{_compared(best.gpu_layers, targets, layers)}"]
    if drafts:
        words.append(f"the draft model {_where(best.gpu_layers_draft)}{_compared(best.gpu_layers_draft, drafts)}")
    return best, f"Placed by the time of a token: {', '.join(words)}."


def rates(options: LoadOptions, targets: Times, drafts: Times | None) -> tuple[float, float]:
    """Returns tokens a millisecond: the better of plain decoding and rounds with `USUAL_K` tokens, and the latter."""
    target = targets[options.gpu_layers]
    drafting_ms = USUAL_K * drafts[options.gpu_layers_draft].plain_ms if drafts else math.inf
    drafted = expected_tokens(_ALPHA, USUAL_K) / (target.round_ms + drafting_ms)
    return max(1 / target.plain_ms, drafted), drafted


def _candidates(
    options: LoadOptions, target: GgufHeader, draft: GgufHeader | None, machine: Machine
) -> Iterator[LoadOptions]:
    """Yields options with as much of each model on the GPU as fits, and with none of it."""
    for of_draft in (_ALL, _NONE) if draft else (options.gpu_layers_draft,):
        whole = replace(options, gpu_layers=_ALL, gpu_layers_draft=of_draft)
        placement = where_it_goes(target, draft, whole, machine)
        fewer = (remedy.value for remedy in placement.remedies if remedy.option == "gpu_layers")
        for layers in {_ALL if placement.fits else int(next(fewer, _NONE)), _NONE}:
            yield replace(whole, gpu_layers=layers)


def _timed(
    file: ModelFile,
    places: set[int],
    devices: Sequence[str],
    progress: Progress | None,
    overrides: Sequence[tuple[str, str]] = (),
) -> Times:
    """Returns the times in each place in which the model can be loaded. Raises ModelFileError if that is none."""
    path, header = file
    threads, rows = read_processors().usual, USUAL_K + 1
    times, failed = dict[int, PlaceTimes](), None
    for layers in sorted(places):
        try:
            model = LlamaModel(
                path,
                gpu_layers=layers,
                devices=devices,
                overrides=overrides,
                header=header,
                tokenizer=False,
                progress=progress,
            )
            with closing(model), closing(NativeContext(model, n_ctx=_N_CTX, max_rows=rows, threads=threads)) as native:
                times[layers] = _times(LlamaContext(native))
        except ModelFileError as error:
            failed = error
    if failed and not times:
        raise failed
    return times


def _times(model: LlamaContext) -> PlaceTimes:
    model.read([0], lambda: False)
    plain, wide = (min(pass_ms(model, width, width) for _ in range(_REPEATS)) for width in (1, USUAL_K + 1))
    return PlaceTimes(plain, wide)


def _where(layers: int, of: int = 0) -> str:
    if layers == _NONE:
        return "on the CPU"
    return "on the GPU" if layers == _ALL else f"with {layers} of {of} layers on the GPU"


def _compared(chosen: int, times: Times, of: int = 0) -> str:
    """Returns the times in brackets, that of the chosen place first."""
    others = (f"{_ms(found)} {_where(layers, of)}" for layers, found in sorted(times.items()) if layers != chosen)
    return f" ({'; '.join([_ms(times[chosen]), *others])})"


def _ms(times: PlaceTimes) -> str:
    return f"{times.plain_ms:.0f} ms" if times.plain_ms >= 10 else f"{times.plain_ms:.1f} ms"
