"""What passes over several tokens cost on this machine: measured here, or else elsewhere for the same quantisation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from specchat_assets.catalog import CatalogPair, catalog
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.gguf import GgufHeader
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import Machine
from specchat_engine.pairing import PairVerdict, judge
from specchat_engine.pairing.judge import MEASURED_HERE, relative_costs

_BY_BITS: Final = {"8": "Q8_0", "6": "Q6_K", "5": "Q5_K_M"}
_FOUR_BITS: Final = "Q4_K_M"

Measured = Mapping[str, MeasuredCosts]
"""The costs that were measured on this machine, by quantisation."""


@dataclass(frozen=True, slots=True)
class PassCosts:
    """C(k+1)/C(1) by k, the same as `costs` in any unit, and where they come from."""

    costs: MeasuredCosts
    basis: str

    @classmethod
    def here(cls, costs: MeasuredCosts) -> PassCosts:
        """Costs that were measured on this machine."""
        return cls(costs, MEASURED_HERE)

    @property
    def is_here(self) -> bool:
        """True if they were measured on this machine."""
        return self.basis == MEASURED_HERE

    @property
    def relative(self) -> list[float]:
        """C(k+1)/C(1) by k."""
        return [*relative_costs(self.costs)]


def pass_costs(quantisation: str, machine: Machine | None, measured: Measured) -> PassCosts | None:
    """The costs for weights of this quantisation; None on a GPU on which they were not measured."""
    if here := measured.get(quantisation):
        return PassCosts.here(here)
    if machine and machine.gpus():
        return None
    known = catalog().costs
    name = quantisation if quantisation in known.curves else _nearest(quantisation)
    if name is None:
        return None
    costs = MeasuredCosts(tuple(zip(known.widths, known.curves[name], strict=True)))
    return PassCosts(costs, f"with the costs of {name} on {known.source}")


def judge_here(
    target: GgufHeader,
    draft: GgufHeader | None,
    options: LoadOptions,
    machine: Machine | None,
    measured: Measured,
    pair: CatalogPair | None = None,
) -> PairVerdict:
    """Judges a pair with the pass costs of this machine and, if the pair is known, what others measured with it."""
    passes = pass_costs(target.quantisation, machine, measured)
    return judge(
        target,
        draft,
        options,
        machine,
        alpha=pair.alpha if pair else None,
        reported=pair.reported if pair else None,
        costs=passes.costs if passes else None,
        basis=passes.basis if passes else MEASURED_HERE,
    )


def _nearest(quantisation: str) -> str | None:
    """Returns a quantisation of about as many bits; fewer than four count as four. None for floats."""
    bits = re.search(r"Q(\d)|FP(\d)", quantisation)
    return _BY_BITS.get(bits[1] or bits[2], _FOUR_BITS) if bits else None
