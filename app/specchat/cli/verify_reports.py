"""The two forms in which `verify` reports: a table that grows while it runs, or JSON lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from statistics import median
from typing import Any

from rich.console import Console
from rich.text import Text

from specchat.cli.messages import print_json, show_progress
from specchat.doctor.exactness import described as described_noise
from specchat.models.labels import pair_name
from specchat.terminal.filter import clean_line
from specchat.terminal.palette import GREY, ORANGE
from specchat_engine import Engine
from specchat_engine.analysis.audit import MARGIN, Audit, Case, Difference, Finding
from specchat_engine.codec import to_json
from specchat_engine.prompt.messages import function_of

_ROW = "{:<12} {:>11} {:>9} {:>11} {:>10} {:>13}"


def report_for(engine: Engine, cases: Sequence[Case], seed: int, *, as_json: bool) -> _JsonReport | _TextReport:
    """The report that was asked for. It gets every answer, in the order of the cases."""
    return _JsonReport(engine, cases, seed) if as_json else _TextReport(engine, cases, seed)


def described(case: Case) -> dict[str, Any]:
    """A case as JSON."""
    settings = case.settings
    return {
        "kind": case.kind,
        "prompt": case.prompt,
        "temperature": settings.sampling.temperature,
        "drafter": settings.drafter,
        "tree": settings.tree,
        "k": settings.k,
        "verifier": settings.verifier,
        "thinking": settings.thinking,
        "grammar": bool(settings.sampling.grammar),
        "tools": [function_of(tool)["name"] for tool in case.tools],
    }


def measured(difference: Finding) -> dict[str, Any]:
    """A finding as JSON; an infinite number becomes null."""
    common = {"place": difference.position, "explained": difference.explained, "reason": difference.reason}
    if not isinstance(difference, Difference):
        return common
    return common | {
        "tokens": difference.tokens,
        "logit_difference": _finite(difference.logit_difference),
        "noise": _finite(difference.noise),
        "gaps": [_finite(gap) for gap in difference.gaps],
        "truncation_differs": difference.truncation_differs,
        "reproduced": difference.reproduced,
    }


class _JsonReport:
    """One line for every answer and one for the result."""

    def __init__(self, engine: Engine, cases: Sequence[Case], seed: int) -> None:
        self._pair = {"target": to_json(engine.target), "draft": to_json(engine.draft)}
        self._seed = seed
        self._all = len(cases)
        self._done = 0

    def case(self, case: Case, difference: Finding | None) -> None:
        """Prints the answer's line."""
        self._done += 1
        print_json({"type": "case", **described(case), "difference": measured(difference) if difference else None})

    def stopped(self) -> str:
        """Prints nothing: a run without a last line was interrupted."""
        return f"stopped after {self._done} of {self._all} answers"

    def finish(self, result: Audit) -> None:
        """Prints the last line."""
        print_json(
            {
                "type": "audit",
                **self._pair,
                "seed": self._seed,
                "answers": result.compared,
                "tokens": result.positions,
                "differences": len(result.findings),
                "unexplained": len(result.unexplained),
                "logit_noise": {
                    "median": _finite(median(result.noise or [0.0])),
                    "max": _finite(max(result.noise, default=0.0)),
                },
                "widths": [{"temperature": each, **to_json(noise)} for each, noise in result.widths],
                "margin": MARGIN,
                "seconds": result.seconds,
            }
        )


class _TextReport:
    """A row for each kind and temperature once all its answers are compared, with the differences below it."""

    def __init__(self, engine: Engine, cases: Sequence[Case], seed: int) -> None:
        self._console = Console(highlight=False, soft_wrap=True)
        self._groups = [(group, len([*members])) for group, members in groupby(cases, key=_group)]
        self._all = len(cases)
        self._done = 0
        self._in_group = 0
        self._found: list[Finding] = []
        pair = pair_name(engine.target, engine.draft, further=[*engine.further.values()])
        longest = cases[0].settings.max_tokens
        self._console.print(
            Text(f"{pair}   seed {seed}   answers of up to {longest} tokens, compared with plain decoding and the rule")
        )
        self._console.print(
            Text(f"drafters {', '.join(_each(cases, 'drafter'))}   k {', '.join(_each(cases, 'k'))}", GREY)
        )
        self._console.print(Text(f"verifiers {', '.join(_each(cases, 'verifier'))}", GREY))
        self._console.print()
        header = _ROW.format("kind", "temperature", "answers", "as promised", "numerics", "unexplained")
        self._console.print(Text(header, "bold"))

    def case(self, case: Case, difference: Finding | None) -> None:
        """Counts the answer. Prints a row after the last one of its kind and temperature."""
        self._done += 1
        self._in_group += 1
        if difference:
            self._found.append(difference)
        (kind, temperature), count = self._groups[0]
        if self._in_group < count:
            show_progress(
                self._console.file, f"{kind}, temperature {temperature:g}: {self._done} of {self._all} answers"
            )
            return
        show_progress(self._console.file, "")
        bugs = sum(not each.explained for each in self._found)
        numbers = (count, count - len(self._found), len(self._found) - bugs, bugs)
        row = _ROW.format(clean_line(kind), f"{temperature:g}", *(number or "–" for number in numbers))
        self._console.print(Text(row, f"bold {ORANGE}" if bugs else "none"))
        self._print_found()
        del self._groups[0]
        self._in_group = 0

    def stopped(self) -> str:
        """Prints the differences found in the unfinished kind."""
        show_progress(self._console.file, "")
        self._print_found()
        return f"stopped after {self._done} of {self._all} answers"

    def finish(self, result: Audit) -> None:
        """Prints the totals."""
        differ, bugs = len(result.findings), len(result.unexplained)
        numerics = differ - bugs
        rate = f" (one in {result.positions // numerics:,} tokens)" if numerics else ""
        self._console.print()
        self._console.print(
            Text(
                f"{result.compared} answers, {result.positions:,} tokens, {result.seconds:.0f} s: "
                f"{result.compared - differ} as promised, {numerics} numerics{rate}, {bugs} unexplained",
                "bold",
            )
        )
        if result.noise:
            most = max(result.noise)
            self._console.print(
                Text(
                    f"noise of the logits: {median(result.noise):.2g} in the median row, "
                    f"{most:.2g} in the worst; up to {MARGIN * most:.2g} is numerics",
                    GREY,
                )
            )
        for words in described_noise(result.widths) if result.widths else ():
            self._console.print(Text(words, GREY))

    def _print_found(self) -> None:
        for each in self._found:
            self._console.print(Text(f"    {'·' if each.explained else '✗'} {_placed(each)}", GREY))
        self._found = []


def _group(case: Case) -> tuple[str, float]:
    return case.kind, case.settings.sampling.temperature


def _each(cases: Sequence[Case], name: str) -> list[str]:
    """The distinct values of a setting, in order."""
    return list(dict.fromkeys(str(getattr(case.settings, name)) for case in cases))


def _placed(difference: Finding) -> str:
    settings = difference.case.settings
    return (
        f"{settings.drafter}, k {settings.k}, {settings.verifier}, token {difference.position + 1}: {difference.reason}"
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
