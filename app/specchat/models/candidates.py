"""Which models of this machine could draft for a target: each with its verdict, the best first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from specchat.models.library import Entry
from specchat_assets.catalog import catalog
from specchat_engine.errors import EngineError
from specchat_engine.gguf import Header
from specchat_engine.gguf.files import read_model
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import Machine
from specchat_engine.pairing import Finding, Grade, Verdict, judge

_GOOD_COST = 0.1
"""A draft step in target steps that usually pays best: a smaller draft guesses worse, a larger one costs more."""

_DEAREST = float("inf")

MOST_TIMED = 8
"""Drafts that are timed, where there are more: those that promise most."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that could draft. `verdict` is None where the file cannot be used, and `problem` then says why."""

    entry: Entry
    verdict: Verdict | None
    problem: str = ""

    @property
    def grade(self) -> Grade:
        """The gravest thing that is known of it."""
        return Grade.BLOCKER if self.verdict is None else self.verdict.grade

    @property
    def fits(self) -> bool:
        """Whether it can be loaded beside the target."""
        return self.grade is not Grade.BLOCKER

    @property
    def memory(self) -> int:
        """Bytes that it adds to the target's; 0 where that is not known."""
        placement = self.verdict.placement if self.verdict else None
        return sum(part.size for part in placement.parts if part.model == "draft") if placement else 0

    @property
    def reason(self) -> str:
        """The gravest finding in one sentence; empty where all is well."""
        if self.verdict is None:
            return self.problem
        line = gravest(self.verdict.lines)
        return "" if line is None else line.sentence


def gravest(lines: Iterable[Finding]) -> Finding | None:
    """The first blocker, else the first warning, else None."""
    found = [*lines]
    for grade in (Grade.BLOCKER, Grade.WARNING):
        for line in found:
            if line.grade is grade:
                return line
    return None


def judge_drafts(
    target: Path, entries: Iterable[Entry], options: LoadOptions, machine: Machine | None
) -> Iterator[Candidate]:
    """One candidate for every other model of this machine, in the order given. Raises ModelFileError for the target."""
    header = read_model(target)
    known = [*entries]
    own = target.resolve()
    big = next((entry for entry in known if entry.path.resolve() == own), None)
    for entry in known:
        if entry.path.resolve() == own:
            continue
        if entry.problem:
            yield Candidate(entry, None, entry.problem)
            continue
        try:
            draft = read_model(entry.path)
        except EngineError as error:
            yield Candidate(entry, None, str(error))
            continue
        yield Candidate(entry, judge(header, draft, options, machine, alpha=_known_alpha(big, header, entry)))


def ranked(candidates: Iterable[Candidate], timed: Iterable[Path] = ()) -> list[Candidate]:
    """The best first: those that were timed here, in the order given, then by verdict, what is expected, and size."""
    order = {path.resolve(): place for place, path in enumerate(timed)}

    def place(one: Candidate) -> tuple[float, ...]:
        verdict = one.verdict
        cost = verdict.cost if verdict and verdict.cost else None
        away = _DEAREST if cost is None else abs(cost / _GOOD_COST - 1) if cost > _GOOD_COST else 1 - cost / _GOOD_COST
        speedup = verdict.speedup if verdict and verdict.speedup else 0.0
        return (
            [Grade.OK, Grade.WARNING, Grade.BLOCKER].index(one.grade) == 2,
            order.get(one.entry.path.resolve(), len(order)),
            [Grade.OK, Grade.WARNING, Grade.BLOCKER].index(one.grade),
            -speedup,
            away,
        )

    return sorted(candidates, key=place)


def worth_timing(judged: Iterable[Candidate]) -> list[Candidate]:
    """Those that fit and cost less than the target, in the order given, not too many of them."""
    smaller = [one for one in judged if one.fits and one.verdict and (one.verdict.cost is None or one.verdict.cost < 1)]
    return smaller[:MOST_TIMED]


def reported_alpha(target: str, draft: str) -> float | None:
    """α of the pair of these two repositories as the catalog has it; None where it has none."""
    known = catalog()
    one, two = (known.of(repository) for repository in (target, draft))
    pairs = known.drafts_for(one) if one else []
    return next((pair.alpha for pair in pairs if pair.draft == two), None)


def _known_alpha(target: Entry | None, header: Header, draft: Entry) -> float | None:
    if target is None or not header.n_params:
        return None
    one, two = (entry.name.partition(":")[0] for entry in (target, draft))
    return reported_alpha(one, two)
