"""Known models and pairs of target and draft: their sizes, repositories, and published measurements.

`catalog.toml` has five tables. Unknown values are left out.

- `[bits]`: bits per weight of each quantisation.
- `[costs]`: C(w)/C(1) of each quantisation on a CPU: what a pass over w tokens costs, in passes over one.
- `[[models]]`: id, family, name; `parameters` and, if a token uses fewer, `active`, in billions; `repository` and
  `quantisations` on the Hugging Face hub if GGUF files are known; `original`, where the published weights are; `header`
  with what a file's header says about layers, heads and context, by its names, and `tied` if the output is the
  embedding; `heads` that predict several tokens; `runs = false` for models that llama.cpp cannot load.
- `[[pairs]]`: a target and a draft, with `[[reports]]` that each name their source.
- `[[heads]]`: drafts that need the target's hidden states, with reports.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class Report:
    """One measurement: `k` drafted tokens per round, rates from 0 to 1, `block_efficiency` in tokens per pass."""

    source: str
    setting: str
    k: int | None = None
    alpha: float | None = None
    acceptance_rate: float | None = None
    block_efficiency: float | None = None
    speedup: float | None = None

    def likely_alpha(self) -> float | None:
        """The reported α, or the constant α that leads to the reported rate at this k; None if neither is known."""
        if self.alpha is not None or self.k is None:
            return self.alpha
        if self.block_efficiency is not None:
            drafted = self.block_efficiency - 1
        elif self.acceptance_rate is not None:
            drafted = self.acceptance_rate * self.k
        else:
            return None
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            accepted = sum(middle**length for length in range(1, self.k + 1))
            low, high = (middle, high) if accepted < drafted else (low, middle)
        return (low + high) / 2


@dataclass(frozen=True, slots=True)
class Model:
    """One model. `parameters` and `active`, the parameters used per token, are in billions.

    `header` has values of a file's header, without the architecture's prefix; it is empty if they are not known.
    """

    id: str
    family: str
    name: str
    parameters: float
    active: float
    repository: str | None = None
    original: str | None = None
    quantisations: tuple[str, ...] = ()
    header: Mapping[str, Any] = field(default_factory=dict, hash=False)
    tied: bool = False
    heads: tuple[str, ...] = ()
    runs: bool = True


@dataclass(frozen=True, slots=True)
class CatalogPair:
    """A target and a draft of the same family."""

    target: Model
    draft: Model
    reports: tuple[Report, ...] = ()

    @property
    def alpha(self) -> float | None:
        """The mean α of the reports; None if no report gives one."""
        known = [alpha for report in self.reports if (alpha := report.likely_alpha()) is not None]
        return sum(known) / len(known) if known else None

    @property
    def reported(self) -> float | None:
        """The largest speed-up of the reports; None if no report gives one."""
        return max((report.speedup for report in self.reports if report.speedup is not None), default=None)


@dataclass(frozen=True, slots=True)
class CatalogHead:
    """A draft that reads a target's hidden states and cannot run alone. `kind` is eagle3 or mtp."""

    target: Model
    kind: str
    repository: str
    reports: tuple[Report, ...] = ()


@dataclass(frozen=True, slots=True)
class PassCurves:
    """C(w)/C(1) at some widths, by quantisation, and where it was measured."""

    source: str
    widths: tuple[int, ...]
    curves: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Catalog:
    """The contents of the file."""

    models: Mapping[str, Model]
    pairs: tuple[CatalogPair, ...]
    heads: tuple[CatalogHead, ...]
    bits: Mapping[str, float]
    costs: PassCurves

    def size(self, model: Model, quantisation: str) -> int:
        """The size of a model's file in bytes, to about 10 %. Raises KeyError for an unknown quantisation."""
        return round(model.parameters * 1e9 * self.bits[quantisation] / 8)

    def of(self, repository: str) -> Model | None:
        """The model of a repository on the hub, ignoring case; None if it is not in the catalog."""
        wanted = repository.lower()
        return next((model for model in self.models.values() if (model.repository or "").lower() == wanted), None)

    def drafts_for(self, target: Model) -> list[CatalogPair]:
        """The known pairs of a target."""
        return [pair for pair in self.pairs if pair.target == target]


@cache
def catalog() -> Catalog:
    """The catalog that ships with specchat. Raises KeyError or TypeError if the file does not follow the schema."""
    text = (resources.files("specchat_assets") / "catalog" / "catalog.toml").read_text("utf-8")
    return parse(tomllib.loads(text))


def parse(data: Mapping[str, Any]) -> Catalog:
    """A catalog from the parsed file. Raises KeyError or TypeError if the file does not follow the schema."""
    models = {entry["id"]: _model(entry) for entry in data["models"]}
    return Catalog(
        models=models,
        pairs=tuple(
            CatalogPair(models[entry["target"]], models[entry["draft"]], _reports(entry)) for entry in data["pairs"]
        ),
        heads=tuple(
            CatalogHead(models[entry["target"]], entry["kind"], entry["repository"], _reports(entry))
            for entry in data["heads"]
        ),
        bits=data["bits"],
        costs=_costs(data["costs"]),
    )


def _costs(entry: Mapping[str, Any]) -> PassCurves:
    curves = {name: tuple(curve) for name, curve in entry["curves"].items()}
    return PassCurves(entry["source"], tuple(entry["widths"]), curves)


def _model(entry: Mapping[str, Any]) -> Model:
    lists = {name: tuple(entry.get(name, ())) for name in ("quantisations", "heads")}
    return Model(**{"active": entry["parameters"], **entry, **lists})


def _reports(entry: Mapping[str, Any]) -> tuple[Report, ...]:
    return tuple(Report(**report) for report in entry.get("reports", ()))
