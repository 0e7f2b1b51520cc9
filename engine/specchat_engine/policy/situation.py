"""What a controller is asked, what it answers, and what it hears of the round that was made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specchat_engine.policy.stopping import EarlyStop


@dataclass(slots=True)
class Situation:
    """What a round can be made of.

    `depth` tokens in the context; `unread` of them the draft model has not read, the last one included; `match` is the
    length of prompt lookup's match, 0 without one. `model` and `lookup` say who may draft, at most `longest` tokens.
    Where k is not `free`, it is to be `longest`. The draft model has to look so many tokens `ahead` of those that it
    drafts. `opening`: the answer has but begun. `resumed`: the match takes a copy up again that was left. `rested`: the
    models computed nothing for a while before this round.
    """

    depth: int
    unread: int
    match: int
    longest: int
    model: bool
    lookup: bool
    free: bool = True
    ahead: int = 0
    opening: bool = False
    resumed: bool = False
    rested: bool = False


@dataclass(slots=True)
class Decision:
    """Who drafts, at most how many tokens, and why; `stop` ends a draft early, where that may be.

    It may be followed for some rounds more where it `lasts`, and is for as many as are told `besides`; a `probe` was
    made to find out. A round by it is expected to give so many `tokens` in so many `milliseconds`, 0 where nothing is
    known of that.
    """

    source: str
    k: int
    reason: str
    stop: EarlyStop | None = None
    probe: bool = False
    lasts: bool = False
    milliseconds: float = 0.0
    tokens: float = 0.0
    besides: int = 0


@dataclass(slots=True)
class Outcome:
    """What became of a round: its draft, how much of it stood and was compared, and its times in milliseconds.

    `first_ms` is what the draft model's first pass took, a part of `draft_ms`; 0 where that was not timed.

    `foretold[i]` says whether prompt lookup's token i was right, for those that the round's tokens tested. It stands
    for so many `rounds` alike.
    """

    drafted: int
    accepted: int
    compared: int
    emitted: int
    confidence: Sequence[float]
    foretold: Sequence[bool]
    verify_ms: float
    draft_ms: float
    other_ms: float
    rounds: int = 1
    first_ms: float = 0.0

    @property
    def milliseconds(self) -> float:
        """What the round took."""
        return self.verify_ms + self.draft_ms + self.other_ms
