"""Which models on this machine could draft for a target: each with its verdict, ranked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from specchat.models.library import LibraryModel
from specchat.models.pass_costs import Measured, judge_here
from specchat_assets.catalog import CatalogPair, catalog
from specchat_engine.errors import EngineError
from specchat_engine.gguf import read_model
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import Machine
from specchat_engine.pairing import Grade, PairFinding, PairVerdict

_GOOD_COST = 0.1
"""The draft cost (draft step / target step) that usually gains most: smaller drafts guess worse, larger cost more."""

MOST_TIMED = 8
"""How many drafts are timed at most."""


@dataclass(frozen=True, slots=True)
class DraftCandidate:
    """A model that could draft. `verdict` is None if the file cannot be used; `problem` then says why."""

    entry: LibraryModel
    verdict: PairVerdict | None
    problem: str = ""

    @property
    def grade(self) -> Grade:
        """The worst grade of all findings."""
        return Grade.BLOCKER if self.verdict is None else self.verdict.grade

    @property
    def fits(self) -> bool:
        """True if it can be loaded together with the target."""
        return self.grade is not Grade.BLOCKER

    @property
    def memory(self) -> int:
        """The bytes that it needs in addition to the target; 0 if that is not known."""
        placement = self.verdict.placement if self.verdict else None
        return sum(part.size for part in placement.parts if part.model == "draft") if placement else 0

    @property
    def reason(self) -> str:
        """The worst finding in one sentence; empty if there is no problem."""
        if self.verdict is None:
            return self.problem
        line = worst(self.verdict.lines)
        return "" if line is None else line.sentence


def worst(lines: Iterable[PairFinding]) -> PairFinding | None:
    """The first blocker, else the first warning, else None."""
    findings = [*lines]
    graver = (line for grade in (Grade.BLOCKER, Grade.WARNING) for line in findings if line.grade is grade)
    return next(graver, None)


def judge_drafts(
    target: Path,
    entries: Iterable[LibraryModel],
    options: LoadOptions,
    machine: Machine | None,
    measured: Measured | None = None,
) -> Iterator[DraftCandidate]:
    """A candidate for each file except the target, in the order given. Raises ModelFileError for the target.

    `measured` has the pass costs of this machine by quantisation.
    """
    header = read_model(target)
    known: dict[Path, LibraryModel] = {}
    for entry in entries:
        known.setdefault(entry.path.resolve(), entry)
    target_entry = known.pop(target.resolve(), None)
    for entry in known.values():
        if entry.problem:
            yield DraftCandidate(entry, None, entry.problem)
            continue
        try:
            draft = read_model(entry.path)
        except EngineError as error:
            yield DraftCandidate(entry, None, str(error))
            continue
        pair = known_pair(target_entry.name, entry.name) if target_entry else None
        yield DraftCandidate(entry, judge_here(header, draft, options, machine, measured or {}, pair))


def ranked(candidates: Iterable[DraftCandidate], timed: Iterable[Path] = ()) -> list[DraftCandidate]:
    """The best first: drafts that were timed, in the order given, then by grade, expected speed-up, and size."""
    order = {path.resolve(): index for index, path in enumerate(timed)}

    def rank(candidate: DraftCandidate) -> tuple[float, ...]:
        cost = candidate.verdict.cost if candidate.verdict else None
        speedup = candidate.verdict.speedup if candidate.verdict else None
        return (
            not candidate.fits,
            order.get(candidate.entry.path.resolve(), len(order)),
            candidate.grade is not Grade.OK,
            -(speedup or 0.0),
            abs(cost / _GOOD_COST - 1) if cost else math.inf,
        )

    return sorted(candidates, key=rank)


def worth_timing(judged: Iterable[DraftCandidate]) -> list[DraftCandidate]:
    """The first `MOST_TIMED` candidates that fit and cost less than the target."""
    smaller = [
        candidate
        for candidate in judged
        if candidate.fits and candidate.verdict and (candidate.verdict.cost is None or candidate.verdict.cost < 1)
    ]
    return smaller[:MOST_TIMED]


def known_pair(target: str, draft: str) -> CatalogPair | None:
    """The pair of these names on the hub, with or without a quantisation, in the catalog; None if it is not there."""
    known = catalog()
    target_model, draft_model = (known.of(name.partition(":")[0]) for name in (target, draft))
    pairs = known.drafts_for(target_model) if target_model else []
    return next((pair for pair in pairs if pair.draft == draft_model), None)
