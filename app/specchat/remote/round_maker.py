"""Makes rounds of what servers report: how many tokens were drafted and accepted, and which were emitted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from specchat.remote.chunks import Token
from specchat.remote.values import milliseconds
from specchat_engine.decoding.rounds import DraftedToken, Outcome, Round, RoundTimes, TargetToken, TokenKind

SOURCE = "remote"
"""The source of rounds whose drafter is not reported."""

_PLAIN = "none"
_MOST_DRAFTED = 4096


def drafted_round(tokens: Sequence[Token], drafted: int, accepted: int, *, ms: float, t_ms: float) -> Round:
    """The round of a draft of `drafted` tokens, of which `accepted` were accepted and `tokens` were emitted.

    The last of them is the target's own if there are more than were accepted. There may be fewer: accepted tokens after
    the end of an answer are not emitted. Of the others it is only known that they were drafted. In a chain the first
    was compared with the target's token, and the rest discarded.
    """
    own = tokens[accepted] if len(tokens) > accepted else None
    texts = [*tokens[:accepted], *[Token()] * (accepted - len(tokens))]
    others = [Outcome.REJECTED, *[Outcome.DISCARDED] * (drafted - accepted)][: drafted - accepted]
    drafted_tokens = [DraftedToken(token.id, token.text, None, None, Outcome.ACCEPTED) for token in texts]
    drafted_tokens += [DraftedToken(None, "", None, None, outcome) for outcome in others]
    kind = TokenKind.CORRECTION if others else TokenKind.BONUS
    return Round(
        0,
        SOURCE,
        drafted,
        "",
        tuple(drafted_tokens),
        TargetToken(None, "", None, TokenKind.NONE) if own is None else TargetToken(own.id, own.text, None, kind),
        (),
        RoundTimes(0.0, 0.0, ms),
        t_ms,
    )


def plain_rounds(tokens: Sequence[Token], *, ms: float, t_ms: float) -> Iterator[Round]:
    """A round for each token, without drafts. The time belongs to the first of them."""
    for index, token in enumerate(tokens):
        own = TargetToken(token.id, token.text, None, TokenKind.PLAIN)
        yield Round(0, _PLAIN, 0, "", (), own, (), RoundTimes(0.0, 0.0, 0.0 if index else ms), t_ms)


def placed(rounds: Sequence[Round], index: int = 0, t_ms: float = 0.0) -> list[Round]:
    """The rounds, counted from `index` on; no one is earlier than the one before."""
    numbered = []
    for number, event in enumerate(rounds, index):
        t_ms = max(t_ms, event.t_ms)
        numbered.append(replace(event, index=number, t_ms=t_ms))
    return numbered


def sound(event: Round) -> Round | None:
    """A round that a server wrote, with what a round can have; None if its tokens contradict each other."""
    outcomes = [token.outcome for token in event.drafted]
    accepted = outcomes.count(Outcome.ACCEPTED)
    ids = [*(token.id for token in event.drafted), event.token.id]
    if (
        len(outcomes) > _MOST_DRAFTED
        or Outcome.ACCEPTED in outcomes[accepted:]
        or any(token_id is not None and token_id < 0 for token_id in ids)
        or (event.token.kind is TokenKind.NONE and (event.token.text or event.token.id is not None))
        or (event.parents and len(event.parents) != len(outcomes))
        or any(not -1 <= parent < index for index, parent in enumerate(event.parents))
    ):
        return None
    times = event.ms
    return replace(
        event,
        k=max(event.k, 0),
        drafted=tuple(replace(token, q=_share(token.q), p=_share(token.p)) for token in event.drafted),
        token=replace(event.token, p=_share(event.token.p)),
        top=tuple(candidate for candidate in event.top if candidate.id >= 0 and _share(candidate.p) is not None),
        ms=RoundTimes(_time(times.draft), _time(times.verify), _time(times.other), _time(times.rollback)),
        t_ms=_time(event.t_ms),
        expected=event.expected if event.expected is not None and math.isfinite(event.expected) else None,
        sharpness=event.sharpness if math.isfinite(event.sharpness) else 1.0,
    )


def _share(value: float | None) -> float | None:
    return value if value is not None and 0 <= value <= 1 else None


def _time(value: float) -> float:
    return milliseconds(value) or 0.0
