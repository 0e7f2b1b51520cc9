"""Recorded turns made by hand and by Hypothesis, for tests that read, play and export them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import Candidate, DraftedToken, Outcome, Round, RoundTimes, TargetToken, TokenKind
from specchat_engine.decoding.stats import TurnStats
from support.drawn_rounds import sample_round

MODEL = {"name": "specchat-guide", "path": "/secret/guide.gguf", "n_params": 17_832_448}
DRAFT = {"name": "specchat-draft", "path": "/secret/draft.gguf", "n_params": 1_934_592}
QUESTION = "What is a round?"

CAT = (
    sample_round([], (TokenKind.PLAIN, "The")),
    sample_round([("a", " cat"), ("a", " sat"), ("a", " on")], (TokenKind.BONUS, " the")),
    sample_round([("a", " red"), ("r", " hat"), ("d", " and")], (TokenKind.CORRECTION, " mat")),
    sample_round([("a", "."), ("d", " It")], (TokenKind.NONE, "")),
)
"""An answer with every outcome: The cat sat on the red mat."""


def start_line(question: str = QUESTION, **changes: Any) -> dict[str, Any]:
    """A start line as `run --json` prints it."""
    return {
        "type": "start",
        "schema": 1,
        "target": MODEL,
        "draft": DRAFT,
        "drafter": "model",
        "verifier": "coupled",
        "lossless": True,
        "params": {"k": 3, "temperature": 0.8},
        "seed": 7,
        "turn": 0,
        "prompt_tokens": 13,
        "messages": [{"role": "user", "content": question}],
        "versions": {"specchat": "0.1.0"},
        "machine": {"cpus": 2},
    } | changes


def sample_trace(
    rounds: Sequence[Round] = CAT, *, step_ms: float = 100.0, ended: bool = True, reason: str = "end", **start: Any
) -> Trace:
    """A turn whose rounds follow each other at equal intervals, each with its own token ids."""
    placed = tuple(
        replace(
            event,
            index=index,
            t_ms=step_ms * (index + 1),
            drafted=tuple(replace(token, id=_id(token.text)) for token in event.drafted),
            token=replace(event.token, id=None if event.token.id is None else _id(event.token.text)),
        )
        for index, event in enumerate(rounds)
    )
    trace = Trace(start_line(**start), placed)
    if not ended:
        return trace
    return trace._replace(
        end={"type": "end", "reason": reason, "text": trace.text, "stats": trace.stats_after(len(placed))},
    )


UNKNOWN = (
    sample_round([], (TokenKind.PLAIN, "The")),
    Round(
        1,
        "remote",
        3,
        "",
        (
            DraftedToken(None, " cat", None, None, Outcome.ACCEPTED),
            DraftedToken(None, "", None, None, Outcome.REJECTED),
            DraftedToken(None, "", None, None, Outcome.DISCARDED),
        ),
        TargetToken(None, " sat", None, TokenKind.CORRECTION),
        (),
        RoundTimes(0.0, 0.0, 9.0),
        10.0,
    ),
)
"""An answer of a server that does not report which tokens it drafted in vain, nor ids."""


def remote_trace(**start: Any) -> Trace:
    """The turn of a server."""
    fields = {"schema": 2, "source": "remote", "draft": None, "verifier": "", "lossless": None} | start
    return sample_trace(UNKNOWN, **fields)._replace(rounds=UNKNOWN)


def encoded(trace: Trace) -> list[str]:
    """Its lines as in a trace file."""
    return [json.dumps(line) + "\n" for line in trace.lines()]


def _id(text: str) -> int:
    return sum(ord(character) for character in text)


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_ids = st.integers(0, 2**31)
_shares = st.none() | st.floats(0, 1)
_times = st.just(0.0) | st.floats(1e-6, 1e6)
"""Milliseconds, in whole nanoseconds as from a clock."""
_maybe_id = st.none() | _ids
_drafted = st.builds(DraftedToken, _maybe_id, _texts, _shares, _shares, st.sampled_from(Outcome))
_tokens = st.builds(
    TargetToken,
    _maybe_id,
    _texts,
    _shares,
    st.sampled_from([kind for kind in TokenKind if kind is not TokenKind.NONE]),
) | st.just(TargetToken(None, "", None, TokenKind.NONE))
_rounds = st.builds(
    Round,
    index=st.just(0),
    source=st.sampled_from(["none", "model", "lookup"]),
    k=st.integers(0, 32),
    reason=_texts,
    drafted=st.lists(_drafted, max_size=4).map(tuple),
    token=_tokens,
    top=st.lists(st.builds(Candidate, _ids, _texts, st.floats(0, 1)), max_size=2).map(tuple),
    ms=st.builds(RoundTimes, _times, _times, _times, _times),
    t_ms=st.just(0.0),
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Any turn: finished, failed or interrupted."""
    times = sorted(draw(st.lists(_times, max_size=4)))
    rounds = tuple(replace(draw(_rounds), index=index, t_ms=time) for index, time in enumerate(times))
    start = start_line(draw(_texts), seed=draw(st.integers(-(2**40), 2**40)), turn=draw(st.integers(0, 9)))
    error = draw(st.none() | _texts)
    end = None
    if error is not None or draw(st.booleans()):
        stats = TurnStats()
        for event in rounds:
            stats.observe(event)
        reason = draw(st.sampled_from(["end", "stop", "length", "cancelled", "error", None]))
        end = {"type": "end", "reason": reason, "text": draw(_texts), "stats": stats.to_json(), "costs": {"1": 2.5}}
    return Trace(start, rounds, end, error)
