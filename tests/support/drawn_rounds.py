"""Handmade and drawn rounds for tests of code that reads rounds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from specchat_engine.decoding.rounds import Candidate, DraftedToken, Outcome, Round, RoundTimes, TargetToken, TokenKind

TEXTS = ("word ", "\n", "- ", "```", "x", "<think>", "</think>", "1. ", "")


def made_round(
    drafted: int,
    accepted: int,
    *,
    index: int = 0,
    source: str = "model",
    ms: tuple[float, float, float] = (0.5, 2.0, 0.1),
    k: int | None = None,
    text: str = "a",
    reason: str = "fixed",
    missed_best: bool = False,
) -> Round:
    """A round that accepts `accepted` drafted tokens. With `missed_best` it rejects the target's likeliest token."""
    outcomes = [Outcome.ACCEPTED] * accepted + [Outcome.REJECTED] + [Outcome.DISCARDED] * drafted
    tokens = tuple(DraftedToken(7, text, 0.5, 0.5, outcome) for outcome in outcomes[:drafted])
    kind = TokenKind.PLAIN if not drafted else TokenKind.BONUS if accepted == drafted else TokenKind.CORRECTION
    return Round(
        index=index,
        source=source if drafted else "none",
        k=drafted if k is None else k,
        reason=reason,
        drafted=tokens,
        token=TargetToken(9, text, 0.5, kind),
        top=(Candidate(7 if missed_best else 9, text, 0.6), Candidate(9 if missed_best else 7, text, 0.3)),
        ms=RoundTimes(ms[0], ms[1], ms[2]),
        t_ms=(index + 1) * sum(ms),
    )


def simulated(
    shares: Sequence[float],
    k: int,
    verify_ms: Callable[[int], float],
    draft_ms: float,
    *,
    other_ms: float = 0.1,
    rounds: int = 4000,
    seed: int = 1,
    missed_best: float = 0.0,
) -> list[Round]:
    """Rounds in which drafted token i is accepted with probability `shares[i]` if those before it are."""
    chance = random.Random(seed)
    found = []
    for index in range(rounds):
        accepted = 0
        while accepted < k and chance.random() < shares[accepted]:
            accepted += 1
        times = (k * draft_ms, verify_ms(k + 1), other_ms)
        found.append(made_round(k, accepted, index=index, ms=times, missed_best=chance.random() < missed_best))
    return found


@st.composite
def rounds_drawn(draw: st.DrawFn, max_size: int = 12) -> list[Round]:
    """Any rounds of an answer."""
    found = []
    for index in range(draw(st.integers(0, max_size))):
        drafted = draw(st.integers(0, 6))
        found.append(
            made_round(
                drafted,
                draw(st.integers(0, drafted)),
                index=index,
                source=draw(st.sampled_from(["model", "lookup"])),
                ms=(draw(st.integers(0, 64)) / 16, draw(st.integers(1, 640)) / 16, draw(st.integers(0, 16)) / 16),
                text=draw(st.sampled_from(TEXTS)),
            )
        )
    return found


OUTCOMES = {"a": Outcome.ACCEPTED, "r": Outcome.REJECTED, "d": Outcome.DISCARDED}


def sample_round(drafted: list[tuple[str, str]], token: tuple[TokenKind, str], index: int = 0) -> Round:
    """A round from drafted tokens (an outcome's first letter and a text) and the target token's kind and text."""
    return Round(
        index=index,
        source="model" if drafted else "none",
        k=len(drafted),
        reason="fixed",
        drafted=tuple(DraftedToken(place, text, 0.5, 0.5, OUTCOMES[key]) for place, (key, text) in enumerate(drafted)),
        token=TargetToken(None if token[0] is TokenKind.NONE else 9, token[1], 0.5, token[0]),
        top=(),
        ms=RoundTimes(1.0, 2.0, 0.5),
        t_ms=10.0,
    )
