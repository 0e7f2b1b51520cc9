"""A whole benchmark as one JSON document: the conditions, every sample, and the results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specchat.bench.hindsight import Hindsight, hindsight
from specchat.bench.plan import Arm
from specchat.bench.samples import Sample
from specchat.bench.summary import BestArms, Overall, SummaryRow, choose, overall, rows, temperatures
from specchat.errors import ConfigError
from specchat.models.labels import recorded_pair
from specchat_engine.codec import from_json, to_json
from specchat_engine.errors import SettingError
from specchat_engine.settings import Settings

SCHEMA = 1
"""The version of the document."""

TYPE = "bench"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a benchmark: the models, the machine, and all options."""

    target: Mapping[str, Any]
    draft: Mapping[str, Any] | None
    versions: Mapping[str, Any]
    machine: Mapping[str, Any]
    options: Mapping[str, Any]
    sampling: Mapping[str, Any]
    system: str | None
    verifier: str
    seed: int
    max_tokens: int
    repeats: int
    temperatures: tuple[float, ...]
    arms: tuple[Arm, ...]
    prompts: Mapping[str, tuple[str, ...]]
    thought_verifier: str = Settings().thought_verifier


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What was measured. `complete` is False where the run was stopped; `seconds` is how long it took."""

    conditions: Conditions
    samples: Sequence[Sample]
    complete: bool
    seconds: float
    peak_memory_bytes: int

    @property
    def pair(self) -> str:
        """The names of both models."""
        return recorded_pair({"target": self.conditions.target, "draft": self.conditions.draft})

    @property
    def rows(self) -> list[SummaryRow]:
        """A row for each temperature, kind and arm."""
        return rows(self.samples, self.conditions.arms)

    @property
    def temperatures(self) -> list[float]:
        """The measured temperatures."""
        return temperatures(self.samples)

    @property
    def choice(self) -> BestArms | None:
        """The recommended settings; None if nothing could be compared."""
        return choose(self.overall(None))

    def overall(self, temperature: float | None) -> list[Overall]:
        """Each arm over all kinds, at one temperature or at all of them (None)."""
        return overall(self.samples, self.conditions.arms, temperature)

    def hindsight(self, temperature: float) -> list[Hindsight]:
        """Each adaptive arm against the best fixed arm of each kind."""
        return hindsight(self.samples, self.conditions.arms, temperature)

    def to_json(self) -> dict[str, Any]:
        """The document."""
        means = [mean for temperature in (*self.temperatures, None) for mean in self.overall(temperature)]
        return {
            "type": TYPE,
            "schema": SCHEMA,
            **to_json(self.conditions),
            "complete": self.complete,
            "seconds": self.seconds,
            "peak_memory_bytes": self.peak_memory_bytes,
            "rows": to_json(self.rows),
            "overall": to_json(means),
            "hindsight": to_json(
                [comparison for temperature in self.temperatures for comparison in self.hindsight(temperature)]
            ),
            "choice": to_json(self.choice),
            "samples": to_json(self.samples),
        }


def read_benchmark(file: Path) -> Benchmark:
    """The benchmark in a file that `specchat bench --json` wrote.

    Raises ConfigError if the file cannot be read, is not a benchmark, or has another schema.
    """
    try:
        document = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise ConfigError(f"{file} is not JSON: name a file that `specchat bench --json` wrote") from None
    if not isinstance(document, dict) or document.get("type") != TYPE:
        raise ConfigError(f"{file} is not a benchmark: name a file that `specchat bench --json` wrote")
    if document.get("schema") != SCHEMA:
        raise ConfigError(
            f"{file} has schema {document.get('schema')!r}, this specchat reads {SCHEMA}: measure it again"
        )
    try:
        return Benchmark(
            conditions=from_json(Conditions, document),
            samples=from_json(list[Sample], document.get("samples")),
            complete=document["complete"],
            seconds=document["seconds"],
            peak_memory_bytes=document["peak_memory_bytes"],
        )
    except (KeyError, ValueError, SettingError) as error:
        raise ConfigError(f"{file} is damaged, {error}: measure it again") from None
