"""The doctor's findings, and how they are printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

from rich.console import Console
from rich.text import Text

from specchat.terminal.filter import clean_line
from specchat.terminal.palette import BLUE, GREY, ORANGE


class Status(StrEnum):
    """How serious a finding is: fine, worth knowing, or something that keeps specchat from working."""

    OK = "ok"
    NOTE = "note"
    LACK = "lack"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was examined. `remedy` says what to do if something could be better."""

    section: str
    name: str
    value: str
    status: Status = Status.OK
    remedy: str = ""


_SIGNS = {Status.OK: ("✓", BLUE), Status.NOTE: ("·", GREY), Status.LACK: ("✗", f"bold {ORANGE}")}


def print_report(findings: Iterable[Finding], *, as_json: bool) -> int:
    """Prints the findings one by one. Returns the exit code, which is 1 if something keeps specchat from working."""
    console = Console(highlight=False, soft_wrap=True)
    section = ""
    lacks = False
    for finding in findings:
        lacks |= finding.status is Status.LACK
        if as_json:
            sys.stdout.write(json.dumps({"type": "finding", **asdict(finding)}) + "\n")
            continue
        if finding.section != section:
            section = finding.section
            console.print(Text(section, style="bold"))
        console.print(_line(finding))
    return 1 if lacks else 0


def _line(finding: Finding) -> Text:
    sign, style = _SIGNS[finding.status]
    line = Text.assemble("  ", (sign, style), f" {clean_line(finding.name):<18} {clean_line(finding.value)}")
    if finding.remedy:
        line.append(f"\n    → {clean_line(finding.remedy)}", ORANGE if finding.status is Status.LACK else "none")
    return line
