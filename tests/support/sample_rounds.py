"""Handmade rounds for tests of code that reads rounds."""

from __future__ import annotations

from specchat_engine.decoding.rounds import DraftedToken, Outcome, Round, RoundTimes, TargetToken, TokenKind

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
