"""`specchat doctor`: what this machine and installation can do, and what to do about each lack."""

from __future__ import annotations

from collections.abc import Iterator

from specchat.doctor.engine import engine_findings
from specchat.doctor.machine import machine_findings
from specchat.doctor.report import Finding
from specchat.doctor.threads import thread_findings

__all__ = ["Finding", "examine"]


def examine() -> Iterator[Finding]:
    """Every finding, in the order in which they are shown. Nothing is changed and no model is loaded."""
    yield from engine_findings()
    yield from thread_findings()
    yield from machine_findings()
