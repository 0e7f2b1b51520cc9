"""Finds the known models and pairs that fit this machine, each with what is fastest here: a draft, or prompt lookup."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from specchat.models.labels import format_size
from specchat.models.machine import ComputeDevice
from specchat.models.pass_costs import Measured, pass_costs
from specchat.models.suggestion import SpeedUpKind, Suggestion, short_name
from specchat_assets.catalog import CatalogPair, Model, catalog
from specchat_engine.gguf import GgufHeader, TensorInfo
from specchat_engine.gguf.header import FILE_TYPES, TYPES
from specchat_engine.load_options import CONTEXT_LIMIT, LoadOptions
from specchat_engine.memory.placement import Placement, halves, where_it_goes
from specchat_engine.pairing.judge import GAIN, best_speedup, read_bytes

_SMALL: Final = ("Q4_K_M", "MXFP4", "Q8_0")
_LARGE: Final = ("BF16", "F16")
_FAST_ENOUGH: Final = 3.0
"""Targets that decode fewer tokens per second are not offered."""

_COMFORTABLE: Final = 5.0
"""About as fast as people read; the few that are offered first decode as many tokens per second."""

_SMALLEST: Final = 1.0
"""Models with fewer parameters, in billions, only draft."""

_SHORTEST: Final = 4096
"""Nothing is offered with fewer tokens of context, unless the model has no more."""

_NUMBERS: Final = {name: number for number, (name, _, _) in TYPES.items()}
_FILE_NUMBERS: Final = {name: number for number, name in FILE_TYPES.items()}

_HEADS: Final = {
    "mtp": "it drafts for itself in files that carry its MTP layers",
    "eagle3": "EAGLE-3 heads are published for it",
}

_BUSY: Final = "Other programs use the CPU now: expect more tok/s without them."

_MUCH_CHEAPER: Final = 1.2
"""16 bits are offered where lookup can gain at least this many times what it can in the small format."""


def suggestions(device: ComputeDevice, measured: Measured, limit: int = 60) -> list[Suggestion]:
    """The targets that fit this machine, the most capable first. `measured` has its pass costs by quantisation."""
    models = (model for model in catalog().models.values() if model.parameters >= _SMALLEST and _is_usable(model))
    by_size = sorted(models, key=lambda model: -model.parameters)
    return [offer for model in by_size for offer in _offers(model, device, measured)][:limit]


def basis(device: ComputeDevice) -> str:
    """A line that says what the expected speeds are based on."""
    if device.on_gpu:
        return "These fit the GPU's memory. Its speed is not known before a model has run."
    if device.bandwidth is None:
        return "The memory bandwidth of this machine could not be measured."
    return f"Speeds are the most that its memory bandwidth of {format_size(device.bandwidth)}/s allows."


def note(device: ComputeDevice, known: Sequence[Suggestion]) -> str:
    """For a CPU: whether no draft is known to gain there, and whether other programs used it; else empty."""
    if device.on_gpu or not known:
        return ""
    return f"{_gains(known)} {_BUSY if device.disturbed else ''}".strip()


def _gains(known: Sequence[Suggestion]) -> str:
    if any(suggestion.gains for suggestion in known):
        return ""
    if any(suggestion.speedup for suggestion in known):
        return "No draft is known to gain on this CPU. Lookup does, on edits."
    return "Neither a draft nor lookup is known to gain on this CPU."


def few(known: list[Suggestion], count: int = 3) -> list[Suggestion]:
    """A few that are fast enough to read along: known gains of drafts, one of each kind, then other families."""
    chosen: list[Suggestion] = []
    ordered = sorted(
        known,
        key=lambda suggestion: (
            suggestion.pace < _COMFORTABLE,
            -(suggestion.speedup or 0.0) if suggestion.gains else 0.0,
        ),
    )
    traits: tuple[Callable[[Suggestion], object], ...] = (
        lambda suggestion: (suggestion.kind, suggestion.model.family) if suggestion.gains else suggestion.kind,
        lambda suggestion: suggestion.model.family,
    )
    for trait in traits:
        for suggestion in ordered:
            if suggestion not in chosen and trait(suggestion) not in [trait(other) for other in chosen]:
                chosen.append(suggestion)
    return chosen[:count]


@dataclass(frozen=True, slots=True)
class _Target:
    """A target in one format on one machine. `relative` is C(k+1)/C(1) by k, empty if every pass costs the same."""

    place: ComputeDevice
    model: Model
    quantisation: str
    header: GgufHeader
    relative: list[float]

    @property
    def pace(self) -> float:
        """The most tokens per second that the memory bandwidth allows."""
        bandwidth = self.place.bandwidth
        return math.inf if self.place.on_gpu or bandwidth is None else bandwidth / read_bytes(self.header)

    def alone(self) -> Suggestion | None:
        """It without a draft; None if it does not fit."""
        speedup = best_speedup(1.0, 0.0, self.relative)[0] if self.relative else None
        kind = SpeedUpKind.EXPERTS if self.header.experts else SpeedUpKind.LOOKUP
        if speedup is not None and speedup < GAIN:
            kind, speedup = SpeedUpKind.PLAIN, None
        return self._fitting(kind, None, "", None, speedup)

    def with_draft(self, pair: CatalogPair) -> Suggestion | None:
        """It with a draft and the most that this can gain; None if they do not fit."""
        quantisation = next((name for name in ("Q8_0", *_SMALL) if name in pair.draft.quantisations), "")
        if not (quantisation and _is_usable(pair.draft)):
            return None
        draft = outline(pair.draft, quantisation, catalog().bits[quantisation])
        speedup, kind = pair.reported, SpeedUpKind.UNMEASURED if pair.reported is None else SpeedUpKind.DRAFT
        if self.relative or pair.alpha is not None:
            alpha = 1.0 if pair.alpha is None else pair.alpha
            cost = read_bytes(draft) / read_bytes(self.header)
            speedup, _ = best_speedup(alpha, cost, self.relative, math.inf if speedup is None else speedup)
            kind = SpeedUpKind.UNMEASURED if pair.alpha is None else SpeedUpKind.DRAFT
        return self._fitting(kind, pair, quantisation, draft, speedup)

    def _beside_heads(self, draft: GgufHeader | None) -> Iterator[str]:
        """On a GPU, where small layers take about as long as large ones: how a head compares with this draft."""
        if self.place.on_gpu and draft and self.model.heads:
            yield f"a head computes one layer for each token, this draft {draft.layers}: that counts on a fast GPU"

    def _fitting(
        self,
        kind: SpeedUpKind,
        pair: CatalogPair | None,
        quantisation: str,
        draft: GgufHeader | None,
        speedup: float | None,
    ) -> Suggestion | None:
        own = min(self.header.n_ctx_train, CONTEXT_LIMIT)
        for n_ctx in (own, *halves(own, _SHORTEST)):
            options = LoadOptions(n_ctx=n_ctx)
            placement = where_it_goes(self.header, draft, options, self.place.machine, remedies=False)
            if placement.fits:
                break
        else:
            return None
        files = [(self.model, self.quantisation), *([(pair.draft, quantisation)] if pair else [])]
        return Suggestion(
            kind,
            self.model,
            self.quantisation,
            pair,
            quantisation,
            size=sum(catalog().size(model, name) for model, name in files),
            memory=_bytes(placement),
            n_ctx=n_ctx,
            pace=self.pace,
            speedup=speedup,
            notes=(
                _memory(n_ctx, own, _bytes(placement), on_gpu=self.place.on_gpu),
                *(_HEADS[head] for head in self.model.heads),
                *self._beside_heads(draft),
            ),
        )


def _offers(model: Model, device: ComputeDevice, measured: Measured) -> Iterator[Suggestion]:
    """The target in a small format, and in 16 bits where checking several tokens is much cheaper."""

    def offer(formats: tuple[str, ...]) -> Suggestion | None:
        name = next((known for known in formats if known in model.quantisations), None)
        if name is None:
            return None
        passes = pass_costs(name, device.machine, measured)
        header = outline(model, name, catalog().bits[name])
        target = _Target(device, model, name, header, passes.relative if passes else [])
        return _best(target) if target.pace >= _FAST_ENOUGH else None

    small, large = offer(_SMALL), offer(_LARGE)
    if small:
        yield small
    gain = small.speedup if small and small.pair is None else None
    if large and not large.pair and large.speedup and large.speedup >= _MUCH_CHEAPER * (gain or 1.0):
        yield replace(large, kind=SpeedUpKind.CHEAP_PASSES)


def _best(target: _Target) -> Suggestion | None:
    """The target with the draft that gains most, else with one of which nothing is known on a GPU, else alone."""
    tried = [paired for pair in catalog().drafts_for(target.model) if (paired := target.with_draft(pair))]
    gaining = [paired for paired in tried if paired.gains and (paired.speedup or 0.0) >= GAIN]
    unknown = [paired for paired in tried if paired.speedup is None]
    if gaining or unknown:
        return max(gaining, key=lambda paired: paired.speedup or 0.0) if gaining else unknown[0]
    alone = target.alone()
    return replace(alone, notes=(*alone.notes, *map(_about_draft, tried))) if alone else None


def _is_usable(model: Model) -> bool:
    return bool(model.runs and model.repository and model.header)


def _bytes(placement: Placement) -> int:
    return sum(part.size for part in placement.parts)


def _memory(n_ctx: int, own: int, size: int, *, on_gpu: bool) -> str:
    """What the context needs; on a GPU a shorter one than the model's own has to be asked for."""
    shorter = f" of its {own:,}" + (f"; load it with -c {n_ctx}" if on_gpu else "") if n_ctx < own else ""
    return f"{format_size(size)} of memory with a context of {n_ctx:,} tokens{shorter}"


def _about_draft(suggestion: Suggestion) -> str:
    """What a draft would bring that is not offered."""
    name, most = short_name(suggestion.pair.draft) if suggestion.pair else "", suggestion.speedup or 0.0
    if most < GAIN:
        return f"{name} as a draft gains nothing here"
    return f"{name} as a draft: not measured, {most:.1f} × here if every token were accepted"


def outline(model: Model, quantisation: str, bits: float) -> GgufHeader:
    """A header with the model's figures, and tensors that have its parameters with `bits` each.

    Memory and reads can be estimated from it as from a real one. It has no vocabulary, only the size of one.
    """
    known = dict(model.header)
    architecture = known.pop("architecture")
    metadata = {f"{architecture}.{key}": _array(value) for key, value in known.items()}
    metadata |= {"general.architecture": architecture, "general.file_type": _FILE_NUMBERS[quantisation]}
    width, layers, vocabulary = (known[key] for key in ("embedding_length", "block_count", "vocab_size"))
    sizes = {"token_embd.weight": vocabulary * width}
    if not model.tied:
        sizes["output.weight"] = vocabulary * width
    if per_layer := known.get("embedding_length_per_layer_input"):
        sizes["per_layer_token_embd.weight"] = vocabulary * layers * per_layer
    experts = 3 * known.get("expert_count", 0) * width * known.get("expert_feed_forward_length", 0)
    others = (round(model.parameters * 1e9) - sum(sizes.values())) // layers - experts
    for layer in range(layers):
        sizes[f"blk.{layer}.weight"] = others
        if experts:
            sizes[f"blk.{layer}.ffn_exps.weight"] = experts
    kind = quantisation.removesuffix("_M").removesuffix("_S")
    tensors = tuple(
        TensorInfo(name, (width, count // width // 8 * 8), _NUMBERS[kind], 0, count, round(count * bits / 8))
        for name, count in sizes.items()
    )
    return GgufHeader(3, "little", 32, metadata, tensors, 0, None)


def _array(value: Any) -> Any:
    return np.array(value) if isinstance(value, list) else value
