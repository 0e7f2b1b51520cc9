"""The doctor's look at how many threads the pairs compute with that were measured on this machine."""

from __future__ import annotations

from collections.abc import Iterator

from specchat.doctor.report import Finding

SECTION = "Threads"
BEGIN = "to begin with"
_SHOWN = 5
"""Pairs that are told, the latest first."""


def thread_findings() -> Iterator[Finding]:
    """What was chosen for each pair, and why; without a record how many threads there are to begin with."""
    from specchat.worker.records import kept_choices
    from specchat_engine.threads.processors import read_processors

    usual = read_processors().usual
    yield Finding(SECTION, BEGIN, f"{usual}, one for each core that may be used")
    for place, (models, choices) in enumerate(kept_choices()):
        if place == _SHOWN:
            return
        told = (f"{role} {choice}" for role, choice in choices.items())
        yield Finding(SECTION, " + ".join(models), "; ".join(told))
