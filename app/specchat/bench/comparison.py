"""Compares two benchmarks arm by arm: what became faster, and how certain that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specchat.bench.document import Benchmark
from specchat.bench.plan import Arm
from specchat.bench.samples import Estimate, Sample
from specchat.bench.summary import estimate, kinds, paired_ratios
from specchat.errors import ConfigError
from specchat_engine.codec import to_json
from specchat_engine.load_options import LoadOptions

TYPE = "bench-comparison"
SCHEMA = 1

_Question = tuple[str, int]
"""A prompt's text and the repeat."""

_Cell = tuple[float, str, Arm]


@dataclass(frozen=True, slots=True)
class Change:
    """One arm on one kind of text at one temperature.

    `speed_ratio` is B's speed / A's speed, from the prompt to the last token. `end_to_end_ratio_a` and
    `end_to_end_ratio_b` are the speed-ups of A and B over their own plain decoding, which do not depend on how fast
    the machine is.
    """

    temperature: float
    kind: str
    arm: Arm
    speed_ratio: Estimate
    end_to_end_ratio_a: float | None
    end_to_end_ratio_b: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The number of answers without a counterpart in A and in B, the conditions that differ, and the changes."""

    only_a: int
    only_b: int
    differences: Mapping[str, tuple[Any, Any]]
    changes: Sequence[Change]

    def to_json(self) -> dict[str, Any]:
        """The comparison as one JSON document."""
        return {"type": TYPE, "schema": SCHEMA, **to_json(self)}


def compare(first: Benchmark, second: Benchmark) -> Comparison:
    """Compares B with A in pairs of the same temperature, arm, prompt (by its text) and repeat.

    Raises ConfigError if the two have no answer in common.
    """
    a, b = _cells(first), _cells(second)
    order, arms = kinds(first.samples), first.conditions.arms
    common = sorted(a.keys() & b.keys(), key=lambda cell: (cell[0], order.index(cell[1]), arms.index(cell[2])))
    gains = [
        {(row.temperature, row.kind, row.arm): row.end_to_end_ratio for row in each.rows} for each in (first, second)
    ]
    changes = []
    for cell in common:
        if ratio := estimate(paired_ratios(b[cell], a[cell])):
            before, after = (gain[cell] for gain in gains)
            changes.append(Change(*cell, ratio, before.value if before else None, after.value if after else None))
    if not changes:
        raise ConfigError(
            "the two benchmarks have no answer in common: measure both with the same --prompts, --arms and --temp"
        )
    paired = sum(change.speed_ratio.pairs for change in changes)
    return Comparison(_count(a) - paired, _count(b) - paired, _differences(first, second), changes)


def _differences(first: Benchmark, second: Benchmark) -> dict[str, tuple[Any, Any]]:
    """The conditions that differ, one level deep, such as `machine.threads`, the version of llama.cpp or the seed."""
    a, b = (_flat(to_json(each.conditions)) for each in (first, second))
    return {name: (a.get(name), b.get(name)) for name in {**a, **b} if a.get(name) != b.get(name)}


def _flat(conditions: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in conditions.items():
        if name in ("target", "draft"):
            flat[name] = value["name"] if value else None
        elif name == "options":  # an option that an older version did not have was as it is by default
            flat |= {f"{name}.{key}": inner for key, inner in (to_json(LoadOptions()) | value).items()}
        elif isinstance(value, Mapping) and name != "prompts":
            flat |= {f"{name}.{key}": inner for key, inner in value.items() if key != "threads_because"}
        elif name not in ("prompts", "arms", "temperatures"):
            flat[name] = value
    return flat


def _count(cells: Mapping[_Cell, Mapping[_Question, float]]) -> int:
    return sum(len(cell) for cell in cells.values())


def _cells(benchmark: Benchmark) -> dict[_Cell, dict[_Question, float]]:
    """The answers' speeds by temperature, kind and arm, then by question."""
    cells: dict[_Cell, dict[_Question, float]] = {}
    prompts: Mapping[str, Sequence[str]] = benchmark.conditions.prompts
    for sample in benchmark.samples:
        speed = sample.end_to_end_speed
        if speed is not None:
            question = prompts[sample.kind][sample.prompt], sample.repeat
            cells.setdefault(_cell(sample), {})[question] = speed
    return cells


def _cell(sample: Sample) -> _Cell:
    return sample.temperature, sample.kind, sample.arm
