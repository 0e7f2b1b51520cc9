"""Findings about what drafts can bring on this machine: the most that a perfect draft could gain."""

from __future__ import annotations

from collections.abc import Iterator

from specchat.doctor.report import Finding
from specchat.models.pass_costs import pass_costs
from specchat.worker.records import kept_costs
from specchat_assets.catalog import catalog
from specchat_engine.errors import NativeLibraryError
from specchat_engine.pairing.judge import best_speedup

_SECTION = "Speculation"


def speculation_findings() -> Iterator[Finding]:
    """For each kind of weights, the speed-up by a draft that takes no time and is always right.

    It is what the cost of passes over several tokens allows: measured here, or elsewhere as long as no such model was
    used here.
    """
    try:
        from specchat_engine.llama.machine import this_machine
    except NativeLibraryError:
        return
    machine = this_machine()
    if machine.gpus():
        yield Finding(_SECTION, "limit", "none by the GPU: a pass over several tokens takes about as long as over one")
        return
    measured = kept_costs()
    for weights in dict.fromkeys([*measured, *catalog().costs.curves]):
        if passes := pass_costs(weights, machine, measured):
            most, k = best_speedup(1.0, 0.0, passes.relative)
            one = f"; a token takes {dict(passes.costs.verify)[1]:.0f} ms" if weights in measured else ""
            yield Finding(
                _SECTION, weights, f"at most {most:.1f} × by a perfect draft of {k} tokens, {passes.basis}{one}"
            )
