"""Records of what was learned about each pair on this machine, kept between starts."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specchat.files import replace_text
from specchat.settings.paths import cache_folder
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.cost_model import CostCurve, CostsByThreads

if TYPE_CHECKING:
    from specchat_engine import Engine
    from specchat_engine.memory.placement import Machine

_log = logging.getLogger(__name__)
_LARGE = 200_000_000
"""Smaller weights may stay in the processor's caches, so their passes say little about larger models."""

_WIDE = 8
"""A curve that does not reach passes over this many tokens says too little."""


def recall(engine: Engine) -> bool:
    """Gives a freshly loaded engine the record of its pair; False if there is none that can be used."""
    try:
        record = json.loads(_file(engine).read_text(encoding="utf-8"))
        engine.controller = Controller.from_json(record)
    except FileNotFoundError:
        return False
    except (OSError, ValueError, RecursionError) as error:
        _log.warning("the record of this pair is left alone: %s", error)
        return False
    return True


@dataclass(frozen=True, slots=True)
class Record:
    """The record of what an engine has learned, and the file for it."""

    file: Path
    text: str

    @classmethod
    def of(cls, engine: Engine) -> Record:
        """Takes the record of an engine. The engine must not compute meanwhile."""
        weights = {
            "quantisation": engine.target.quantisation,
            "bytes": engine.target.size_bytes,
            "experts": engine.target.experts,
            "on_gpu": engine.on_gpu,
        }
        return cls(_file(engine), json.dumps(engine.controller.to_json() | {"weights": weights}))

    def write(self) -> None:
        """Replaces the record before. A folder that cannot be written is only logged."""
        try:
            replace_text(self.file, self.text)
        except OSError as error:
            _log.warning("the record of this pair could not be kept: %s", error)


def keep(engine: Engine) -> None:
    """Writes what the engine has learned, between two answers."""
    Record.of(engine).write()


def kept_costs(machine: Machine) -> dict[str, MeasuredCosts]:
    """What passes of large dense targets cost on this machine, by quantisation, from the latest records.

    With a GPU they are those of targets that were on it wholly, and without one those of targets on the CPU.
    """
    on_gpu = bool(machine.gpus())
    by_quantisation: dict[str, MeasuredCosts] = {}
    for record in _kept():
        try:
            weights, curve = record["weights"], CostsByThreads.from_json(record["target"]).best_known
            quantisation, usable = str(weights["quantisation"]), weights["bytes"] >= _LARGE and not weights["experts"]
            usable = usable and weights.get("on_gpu", False) is on_gpu
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        if usable and (costs := _known_costs(curve)):
            by_quantisation.setdefault(quantisation, costs)
    return by_quantisation


def measure_costs(engine: Engine) -> MeasuredCosts | None:
    """Measures what passes of a loaded pair cost, and adds that to its record. None if that isn't enough to know.

    The engine may give no answer meanwhile. Raises EngineError if a pass fails.
    """
    recall(engine)
    for _ in engine.measuring():
        pass
    keep(engine)
    return _known_costs(engine.controller.targets.best_known)


def _known_costs(curve: CostCurve) -> MeasuredCosts | None:
    widths = curve.measured(0)
    return MeasuredCosts(tuple(widths.items())) if 1 in widths and max(widths) >= _WIDE else None


def _kept() -> Iterator[Any]:
    """The records, the latest first."""
    for path in sorted((cache_folder() / "pairs").glob("*.json"), key=_written, reverse=True):
        try:
            yield json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _file(engine: Engine) -> Path:
    """One file for each pair, build, device and machine; it has the costs by thread count."""
    name = sha256(engine.identity.encode()).hexdigest()[:24]
    return cache_folder() / "pairs" / f"{name}.json"
