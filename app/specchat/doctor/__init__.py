"""`specchat doctor`: examines this machine and installation, and says how to fix what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from specchat.doctor.engine import engine_findings, thread_finding
from specchat.doctor.machine import machine_findings
from specchat.doctor.report import Finding
from specchat.doctor.speculation import speculation_findings

__all__ = ["Finding", "examine"]


def examine() -> Iterator[Finding]:
    """All findings, in the order in which they are shown. Changes nothing and loads no model."""
    yield from engine_findings()
    yield thread_finding()
    yield from speculation_findings()
    yield from machine_findings()
