"""Known target/draft pairs: what they are, where their files are, and what was reported of them.

`catalog.toml` holds `[bits]`, bits a weight by quantisation; `[[models]]` with id, family, name, `parameters` and, for
mixtures, `active` in billions, `repository` and `quantisations` on the Hugging Face hub where GGUF files are known,
`original` where only other files are, `heads` that predict several tokens, and `runs` false for what llama.cpp cannot
load; `[[pairs]]` of a target and a draft; `[[heads]]`, drafts that need the target's hidden states. Pairs and heads
have `[[reports]]`, each with its source. What is not known is not there.
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
    """What somebody measured: `k` drafted at once, shares of 0…1, `block_efficiency` tokens a target pass."""

    source: str
    setting: str
    k: int | None = None
    alpha: float | None = None
    acceptance_rate: float | None = None
    block_efficiency: float | None = None
    speedup: float | None = None

    def likely_alpha(self) -> float | None:
        """α as it was reported, or the constant α that leads to what was reported at this k; None where neither is."""
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
            accepted = sum(middle**place for place in range(1, self.k + 1))
            low, high = (middle, high) if accepted < drafted else (low, middle)
        return (low + high) / 2


@dataclass(frozen=True, slots=True)
class Model:
    """One model; `parameters` and `active`, those that are read for a token, in billions."""

    id: str
    family: str
    name: str
    parameters: float
    active: float
    repository: str | None = None
    original: str | None = None
    quantisations: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    runs: bool = True


@dataclass(frozen=True, slots=True)
class Pair:
    """A target and a draft of its family."""

    target: Model
    draft: Model
    reports: tuple[Report, ...] = ()

    @property
    def alpha(self) -> float | None:
        """The mean of the α that reports tell or imply, None where there are none."""
        known = [alpha for report in self.reports if (alpha := report.likely_alpha()) is not None]
        return sum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True)
class Head:
    """A draft that works on a target's hidden states; it cannot run alone. `kind` is eagle3 or mtp."""

    target: Model
    kind: str
    repository: str
    reports: tuple[Report, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalog:
    """Everything in the file."""

    models: Mapping[str, Model]
    pairs: tuple[Pair, ...]
    heads: tuple[Head, ...]
    bits: Mapping[str, float] = field(default_factory=dict)

    def size(self, model: Model, quantisation: str) -> int:
        """Bytes of a file, to some 10 %. Raises KeyError for an unknown quantisation."""
        return round(model.parameters * 1e9 * self.bits[quantisation] / 8)

    def of(self, repository: str) -> Model | None:
        """The model of a repository on the hub, whatever the case of its name."""
        wanted = repository.lower()
        return next((one for one in self.models.values() if (one.repository or "").lower() == wanted), None)

    def drafts_for(self, target: Model) -> list[Pair]:
        """The known pairs of a target."""
        return [pair for pair in self.pairs if pair.target == target]


@cache
def catalog() -> Catalog:
    """The catalog that ships. Raises KeyError or TypeError where the file does not follow the schema."""
    text = (resources.files("specchat_assets") / "catalog" / "catalog.toml").read_text("utf-8")
    return parse(tomllib.loads(text))


def parse(data: Mapping[str, Any]) -> Catalog:
    """A catalog from what its file holds. Raises KeyError or TypeError for anything that the schema does not have."""
    models = {entry["id"]: _model(entry) for entry in data["models"]}
    return Catalog(
        models=models,
        pairs=tuple(Pair(models[entry["target"]], models[entry["draft"]], _reports(entry)) for entry in data["pairs"]),
        heads=tuple(
            Head(models[entry["target"]], entry["kind"], entry["repository"], _reports(entry))
            for entry in data["heads"]
        ),
        bits=data["bits"],
    )


def _model(entry: Mapping[str, Any]) -> Model:
    lists = {name: tuple(entry.get(name, ())) for name in ("quantisations", "heads")}
    return Model(**{"active": entry["parameters"], **entry, **lists})


def _reports(entry: Mapping[str, Any]) -> tuple[Report, ...]:
    return tuple(Report(**report) for report in entry.get("reports", ()))
