"""The contents of an export, and how models and figures are named in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specchat.models.formatting import model_name, pair_name
from specchat.stats.line import statistics_line, with_ending
from specchat.traces.trace import Trace

SaidMessage = tuple[str, str, str]
"""Role, content and a line of figures, which may be empty."""


@dataclass(frozen=True, slots=True)
class Document:
    """A session with a title on one line."""

    title: str
    messages: tuple[SaidMessage, ...]
    traces: tuple[Trace, ...]


@dataclass(frozen=True, slots=True)
class _Model:
    name: str
    n_params: int


def pair_of(start: Mapping[str, Any]) -> str:
    """The names of target and draft of a turn; empty if they were not recorded."""
    target, draft = _model(start, "target"), _model(start, "draft")
    return pair_name(target, draft) if target else ""


def target_of(start: Mapping[str, Any]) -> str:
    """The name of the target; empty if it was not recorded."""
    target = _model(start, "target")
    return model_name(target) if target else ""


def figures_of(trace: Trace) -> str:
    """The statistics of the turn in one line, after how it ended if it did not end by itself."""
    return with_ending(trace.reason, statistics_line(trace.stats, trace.start))


def conversation(traces: Sequence[Trace]) -> list[SaidMessage]:
    """The messages of recorded turns, each answer with its figures. Repeated messages appear once."""
    said: list[SaidMessage] = []
    for trace in traces:
        asked = [(message["role"], message["content"]) for message in trace.start["messages"]]
        known = [(role, content) for role, content, _ in said]
        if known != asked[: len(known)]:
            known = []
        said += [(role, content, "") for role, content in asked[len(known) :]]
        said.append(("assistant", trace.text, figures_of(trace)))
    return said


def _model(start: Mapping[str, Any], name: str) -> _Model | None:
    described = start.get(name)
    return _Model(described["name"], described["n_params"]) if described else None
