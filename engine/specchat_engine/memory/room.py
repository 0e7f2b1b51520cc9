"""Whether this machine has room for a context, found out before anything is allocated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specchat_engine.errors import ModelFileError
from specchat_engine.gguf import Header
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import Machine, halves, where_it_goes

_SHORTEST = 1024
"""A context that does not fit is halved, down to about this many tokens."""

_SPARE = 8
"""Caches and buffers may take an eighth of the free memory even if the weights need all of it: those are mapped from
their files, so the system can drop and read them again."""


def with_room(
    target: Header,
    draft: Header | None,
    options: LoadOptions,
    machine: Machine,
    further: Sequence[Header] = (),
    projector: int = 0,
) -> tuple[LoadOptions, str]:
    """The options to load a pair with, and why their context is shorter than the model's own; empty if it is not.

    `further` are more draft models, and a `projector` of so many bytes is loaded too. Only main memory is looked at,
    because the estimate for GPUs is too coarse. Raises ModelFileError if a context that the options name does not fit,
    or none does.
    """
    free = machine.host.free and max(machine.host.free - projector, 1)
    wanted = options.n_ctx or target.n_ctx_train

    def taken(n_ctx: int) -> tuple[int, int]:
        """Bytes of main memory: the weights, and everything beside them."""
        shorter = replace(options, n_ctx=n_ctx)
        parts = [*where_it_goes(target, draft, shorter, machine).parts]
        for one in further:
            beside = where_it_goes(target, one, shorter, machine).parts
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
