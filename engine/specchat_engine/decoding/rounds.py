"""One `Round` is one draft and the one target pass that verified it: what the engine says to everybody else."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from time import perf_counter, process_time
from typing import Literal

from specchat_engine.settings import DRAFT_MODEL, FURTHER_MODEL, HEADS
from specchat_engine.trees import chain_of, depths_of

_BY_MODEL = frozenset((DRAFT_MODEL, *HEADS, "translated"))


def drafter_of(source: str) -> str:
    """The drafter of a source. In old traces another one may have added to its draft, after a plus."""
    return source.partition("+")[0]


def by_model(source: str) -> bool:
    """Whether rounds of this source have a pass for each drafted token: those of a draft model, also translated through
    text, or of a head."""
    drafter = drafter_of(source)
    return drafter in _BY_MODEL or drafter.startswith(FURTHER_MODEL)


class Outcome(StrEnum):
    """What became of a drafted token."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    DISCARDED = "discarded"


class TokenKind(StrEnum):
    """Why the target's own token ends a round."""

    CORRECTION = "correction"
    BONUS = "bonus"
    PLAIN = "plain"
    NONE = "none"


LimitedBy = Literal[
    "", "pace", "confidence", "loss cap", "few samples", "longest", "rows", "wanted", "end", "fixed", "vote", "tree"
]
"""What kept a draft from being longer: a further token was not worth its time ("pace"), the drafter was too unsure of
those before ("confidence"), drafts may not lose more ("loss cap"), too little is known of the drafter ("few samples"),
it drafts no more ("longest"), the target verifies no more at a time ("rows"), no more tokens are wanted ("wanted"), the
drafter had no more to propose ("end"), k is "fixed", or it became a "tree". Empty where nothing could be drafted. Old
traces also have "vote": another drafter added to the draft."""


@dataclass(frozen=True, slots=True)
class DraftedToken:
    """One drafted token; q and p are the rule's probabilities, None if there is none or it was not computed.

    `id` is None if the engine did not report it; a token without an id and a text is only known to have been drafted.
    """

    id: int | None
    text: str
    q: float | None
    p: float | None
    outcome: Outcome

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known of the token but its outcome."""
        return self.id is None and not self.text


@dataclass(frozen=True, slots=True)
class TargetToken:
    """The target's own token at the end of a round; id None and text empty if an accepted token ended the answer.

    `id` is also None if the engine did not report it.
    """

    id: int | None
    text: str
    p: float | None
    kind: TokenKind


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the target's best candidates at the round's last position, with its probability after truncation."""

    id: int
    text: str
    p: float


@dataclass(frozen=True, slots=True)
class RoundTimes:
    """Milliseconds of the draft model's passes, the target's pass, the rollback of tokens that were not accepted (0 in
    old traces, which did not count it), and everything else. They add up to the round's time."""

    draft: float
    verify: float
    other: float
    rollback: float = 0.0

    @property
    def total(self) -> float:
        """The time of the whole round."""
        return self.draft + self.verify + self.other + self.rollback


@dataclass(frozen=True, slots=True)
class Round:
    """One draft, verified: `k` tokens were allowed, for this `reason`. `limited_by` kept the draft from being longer.

    `t_ms` is the time since the turn began.

    `expected` is the forecast that decided about the draft, in times the speed of plain decoding; None without one.
    `sharpness` is the power of the draft model's distribution that the draft was drawn from. `verifier` is the rule
    that verified the draft, empty without a draft or if the engine did not report it. The accepted tokens come first
    in `drafted`, in the order of the text. `parents[i]` is the index of the drafted token that the i-th follows, -1 for
    none; it is empty if the draft is a chain.
    """

    index: int
    source: str
    k: int
    reason: str
    drafted: tuple[DraftedToken, ...]
    token: TargetToken
    top: tuple[Candidate, ...]
    ms: RoundTimes
    t_ms: float
    expected: float | None = None
    sharpness: float = 1.0
    parents: tuple[int, ...] = ()
    verifier: str = ""
    limited_by: LimitedBy = ""

    @property
    def depths(self) -> tuple[int, ...]:
        """How many drafted tokens come before each one on its path."""
        return tuple(depths_of(self.parents or chain_of(len(self.drafted))))

    @property
    def num_accepted(self) -> int:
        """How many drafted tokens were accepted; they come first in `drafted`."""
        return sum(token.outcome is Outcome.ACCEPTED for token in self.drafted)

    @property
    def num_rejected(self) -> int:
        """1 if the target rejected every token that was drafted for the place after the accepted ones, else 0.

        In a tree, the siblings of an accepted token do not count: their place was guessed right.
        """
        accepted = self.num_accepted
        places = zip(self.drafted, self.depths, strict=True)
        return int(any(token.outcome is Outcome.REJECTED and depth == accepted for token, depth in places))

    @property
    def num_emitted(self) -> int:
        """Tokens that this round added to the answer."""
        return self.num_accepted + (self.token.kind is not TokenKind.NONE)

    @property
    def emitted(self) -> tuple[DraftedToken | TargetToken, ...]:
        """The tokens that this round added to the answer: the accepted ones, and the target's own if there is one."""
        accepted = (token for token in self.drafted if token.outcome is Outcome.ACCEPTED)
        return (*accepted,) if self.token.kind is TokenKind.NONE else (*accepted, self.token)

    @property
    def text(self) -> str:
        """The text that this round added to the answer, before any stop string cut it."""
        accepted = (token.text for token in self.drafted if token.outcome is Outcome.ACCEPTED)
        return "".join(accepted) + self.token.text


_CONTENDED = 0.75
"""Other programs keep the cores busy if the threads of a pass compute for less than this share of its time."""


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """How far the reading of a prompt has come: `read` of its `total` tokens, those that were known included.

    `contended` says that other programs keep the cores busy meanwhile.
    """

    read: int
    total: int
    contended: bool


@dataclass(frozen=True, slots=True)
class PromptReading:
    """A prompt of `total` tokens that is being read with `threads` threads of the processor, 0 if it is not known."""

    total: int
    threads: int
    began: float = field(default_factory=perf_counter)
    computed: float = field(default_factory=process_time)

    def progress(self, read: int) -> PromptProgress:
        """The progress once the memory holds `read` tokens."""
        wanted = self.threads * (perf_counter() - self.began)
        contended = process_time() - self.computed < _CONTENDED * wanted
        return PromptProgress(min(read, self.total), self.total, contended)
