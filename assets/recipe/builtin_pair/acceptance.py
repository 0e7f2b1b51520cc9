"""Runs the finished pair in the engine: the target's answers and the acceptance of the draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from builtin_pair.results import Acceptance
from specchat_engine import Engine, Settings, TurnStats

_DRAFTED = 4
_LIMIT = 320


def answer(engine: Engine, prompt: str, temperature: float, seed: int) -> tuple[str, TurnStats]:
    """One answer with the draft model drafting alone at k = 4, and its statistics."""
    sampling = replace(engine.recommended, temperature=temperature)
    settings = Settings(k=_DRAFTED, drafter="model", sampling=sampling, max_tokens=_LIMIT)
    session = engine.session(settings=settings, seed=seed)
    for _ in session.generate(prompt):
        pass
    return session.text, session.stats


def measure_acceptance(engine: Engine, kind: str, prompts: Sequence[str], temperature: float, seed: int) -> Acceptance:
    """Answers each prompt and counts the outcomes of the drafted tokens."""
    stats = [answer(engine, prompt, temperature, seed + number)[1] for number, prompt in enumerate(prompts)]
    return Acceptance(
        kind,
        temperature,
        accepted=sum(turn.num_accepted_tokens for turn in stats),
        rejected=sum(turn.num_rejected_tokens for turn in stats),
        emitted=sum(turn.num_tokens for turn in stats),
        passes=sum(turn.num_rounds for turn in stats),
    )
