"""Findings about what drafts can bring on this machine: the most that a perfect draft could gain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from specchat.doctor.report import Finding, Status
from specchat.engine_process.records import kept_costs, measure_costs
from specchat.models.pass_costs import PassCosts, pass_costs
from specchat_assets.catalog import catalog
from specchat_engine.errors import NativeLibraryError
from specchat_engine.pairing.judge import best_speedup

if TYPE_CHECKING:
    from specchat_engine import Engine  # it needs llama.cpp, which this checks

_SECTION = "Speculation"
_TO_MEASURE = "the first answers of a model with such weights measure it, and so does `specchat doctor -m MODEL`"


def speculation_findings() -> Iterator[Finding]:
    """For each kind of weights, the speed-up by a draft that takes no time and is always right.

    It is what the cost of passes over several tokens allows: measured here, or on another machine as long as no large
    model with such weights was used here. Then the finding says so, and the last one how to measure.
    """
    try:
        from specchat_engine.llama.machine import this_machine
    except NativeLibraryError:
        return
    machine = this_machine()
    measured = kept_costs(machine)
    if machine.gpus() and not measured:
        yield Finding(_SECTION, "passes", "their cost was not measured on this GPU yet", Status.NOTE, _TO_MEASURE)
    for weights in dict.fromkeys([*measured, *catalog().costs.curves]):
        if passes := pass_costs(weights, machine, measured):
            yield _limit(weights, passes)
    if not machine.gpus() and not {*catalog().costs.curves} <= {*measured}:
        yield Finding(_SECTION, "elsewhere", "passes may cost less or more on this machine", Status.NOTE, _TO_MEASURE)


def measured_limit(engine: Engine) -> Iterator[Finding]:
    """The same for the target of a loaded pair, whose passes are measured and recorded.

    Raises EngineError if a pass fails.
    """
    weights = engine.target.quantisation
    if costs := measure_costs(engine):
        yield _limit(weights, PassCosts.here(costs))


def _limit(weights: str, passes: PassCosts) -> Finding:
    most, k = best_speedup(1.0, 0.0, passes.relative)
    draft = f"by a perfect draft of {k} tokens"
    if not passes.is_here:
        return Finding(_SECTION, weights, f"not measured here: {most:.1f} × {draft} {passes.basis}", Status.NOTE)
    token_ms = dict(passes.costs.verify)[1]
    return Finding(_SECTION, weights, f"at most {most:.1f} × {draft}, {passes.basis}; a token takes {token_ms:.3g} ms")
