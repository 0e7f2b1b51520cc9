"""What a drafter sees, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from specchat_engine.decoding.verification import ProposalLaw, Verdict
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.sampler import Sampler


@dataclass(frozen=True, slots=True)
class Draft:
    """Drafted tokens, in order. `rows[i]` is the distribution that token i was drawn from; empty for point masses.

    `confidence[i]` in [0, 1] says how sure the drafter was of token i, if it was asked. `note` says why it drafted
    less than it was allowed.
    """

    tokens: tuple[int, ...]
    rows: tuple[Candidates, ...] = ()
    source: str = "none"
    note: str = ""
    confidence: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)


NOTHING = Draft(())


@dataclass(slots=True)
class Context:
    """The tokens so far: the prompt and, from `prompt_length` on, the answer. Only the loop changes it.

    `sampler` is the rule in force at the next position, `proposer` what a drafter draws by: the same rule with the
    noise that the verifier wants there. `ends` are the ids that end an answer. `worth_more`, where there
    is one, gets the confidence of each drafted token in turn, and says whether drafting another one pays; it must
    not be asked about a token that is then left out. Drafters that sharpen draw with this `sharpness`.
    """

    tokens: list[int]
    prompt_length: int
    sampler: Sampler
    ends: frozenset[int] = frozenset()
    worth_more: Callable[[float], bool] | None = None
    sharpness: float = 1.0
    proposer: Sampler = field(init=False)

    def __post_init__(self) -> None:
        self.proposer = self.sampler

    @property
    def position(self) -> int:
        """The output position of the next token: how many tokens the answer has."""
        return len(self.tokens) - self.prompt_length

    @property
    def middle(self) -> int:
        """The depth in the middle of the answer, at which its costs are reported."""
        return self.prompt_length + self.position // 2


@dataclass(frozen=True, slots=True)
class DrafterTraits:
    """What the policy needs to know of a drafter to weigh its drafts against others.

    `evidence` tells how likely a drafted token stands: the drafter's own "confidence", the length of the "match" that
    it continues, or "nothing". `cost`: each "step" is a pass of its own, a "draft" is one pass, or drafting costs
    "nothing". Where k is free, drafts have at most `longest` tokens. A drafter `sharpens` if it draws from its rows to
    the power of `Context.sharpness`.
    """

    name: str
    evidence: Literal["confidence", "match", "nothing"]
    cost: Literal["step", "draft", "nothing"]
    longest: int = 16
    sharpens: bool = False


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a drafter could do now: it has `unread` tokens to read first, the last one of the context included.

    `match` is the length of the match that it would continue, 0 without one; `resumed` says that the match takes up a
    copy again that was left at an edit. `note` says why it cannot draft, empty where it can.
    """

    unread: int = 1
    match: int = 0
    resumed: bool = False
    note: str = ""


class Drafter(Protocol):
    """Proposes tokens and learns which of them were accepted.

    This is all that a drafter of one's own needs; see `Engine.load`. The text does not depend on it under the verifier
    "coupled", whatever it proposes.
    """

    @property
    def name(self) -> str:
        """The source of its tokens, as rounds and statistics name it."""

    @property
    def law(self) -> ProposalLaw:
        """The law of its proposals, which verifiers that compare p with q rely on.

        "point" if they are a function of the tokens so far, "drawn" if `context.proposer` draws each one from the row
        that comes with it, "either" for one or the other in each draft, and "unknown" to promise neither.
        """

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Reads the text so far at the beginning of a turn, before its first draft in it.

        The turn may follow the last one, or be another conversation. Raises Cancelled when `cancelled` says so.
        """

    def propose(self, context: Context, k: int) -> Draft:
        """At most k tokens that may follow `context.tokens`, or fewer, or none. Never changes the context."""

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Learns the verdict on its draft; the context already holds what was kept."""
