"""`specchat models pair`: what speaks for and against a pair, before or after the download."""

from __future__ import annotations

from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from specchat.cli.models_tables import print_json
from specchat.cli.reporting import no_native_debugger, say
from specchat.errors import FAILED
from specchat.models.chosen_pair import load_options
from specchat.models.headers import Described, describe
from specchat.settings.schema import Config
from specchat.terminal.filter import clean_line
from specchat.terminal.palette import BLUE, ORANGE
from specchat_engine.llama.machine import this_machine
from specchat_engine.pairing import Finding, Grade, Verdict, judge

_SIGNS = {Grade.OK: ("✓", BLUE), Grade.WARNING: ("!", ORANGE), Grade.BLOCKER: ("✗", f"bold {ORANGE}")}


def pair(target: str, draft: str, config: Config, *, as_json: bool) -> int:
    """Prints the verdict and returns the exit code, 1 for a blocker.

    Raises LibraryError, HubError or ModelFileError where a header cannot be had.
    """
    no_native_debugger()
    one, two = describe(target), describe(draft)
    verdict = judge(one.header, two.header, load_options(config), this_machine())
    if as_json:
        print_json(
            {
                "type": "verdict",
                "target": {"name": one.name, "place": one.place, "size": one.size, "is_here": one.is_here},
                "draft": {"name": two.name, "place": two.place, "size": two.size, "is_here": two.is_here},
                "fits": verdict.fits,
                "grade": verdict.grade,
                "same_tokens": verdict.same_tokens,
                "cost": verdict.cost,
                "speedup": verdict.speedup,
                "lines": [asdict(line) for line in verdict.lines],
            }
        )
    else:
        console = Console(highlight=False, soft_wrap=True)
        for line in verdict.lines:
            console.print(_line(line))
        say(_conclusion(one, two, verdict))
    return 0 if verdict.fits else FAILED


def _line(line: Finding) -> Text:
    sign, style = _SIGNS[line.grade]
    text = Text.assemble((sign, style), f" {clean_line(line.topic):<16} {clean_line(line.finding)}")
    if line.remedy:
        text.append(f"\n  → {clean_line(line.remedy)}", "none" if line.grade is Grade.OK else ORANGE)
    return text


def _conclusion(target: Described, draft: Described, verdict: Verdict) -> str:
    if not verdict.fits:
        return f"{draft.name} does not fit {target.name}: see ✗"
    away = [one.name for one in (target, draft) if not one.is_here]
    if away:
        return f"they fit: `specchat models pull {' '.join(away)}` fetches what is not here"
    return f"they fit: `specchat chat -m {target.name} -d {draft.name}`"
