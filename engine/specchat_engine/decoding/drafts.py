"""What a drafter sees, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from specchat_engine.decoding.verification import ProposalLaw, Verdict
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.trees import ROOT as ROOT
from specchat_engine.trees import chain_of, path_to


@dataclass(frozen=True, slots=True)
class Draft:
    """Drafted tokens, in order. `rows[i]` is the distribution that token i was drawn from; empty for point masses.

    `confidence[i]` in [0, 1] says how sure the drafter was of token i, if it was asked. `note` says why it drafted
    less than it was allowed.

    `parents[i]` is the index of the token that token i follows, which comes before it, or ROOT; without parents the
    draft is a chain. A tree begins with a chain, to which its confidences belong. `runners_up[i]` is what would have
    been drafted in place of token i, if that was asked for, None if nothing would. Drafters that count how often each
    token followed give its share of the count, `runner_up_shares[i]` in [0, 1].

    `source` is the drafter, or two of them with a plus if the second one added to the draft of the first: the last
    `borrowed` tokens of the chain, which agreed with it so far, or else all that branch off.
    """

    tokens: tuple[int, ...]
    rows: tuple[Candidates, ...] = ()
    source: str = "none"
    note: str = ""
    confidence: tuple[float, ...] = ()
    parents: tuple[int, ...] = ()
    runners_up: tuple[int | None, ...] = ()
    borrowed: int = 0
    runner_up_shares: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def trunk(self) -> int:
        """How many tokens its first chain has, all of them without parents. The other tokens branch off from it."""
        return next((place for place, parent in enumerate(self.parents) if parent != place - 1), len(self.tokens))

    @property
    def own(self) -> int:
        """How many tokens of the chain its drafter drafted itself."""
        return self.trunk - self.borrowed

    @property
    def added_by(self) -> str:
        """The drafter that added the tokens after its own ones, empty if none did."""
        return self.source.partition("+")[2]

    @property
    def runner_up_evidence(self) -> Sequence[float]:
        """How likely each runner-up is right: its share, or the confidence in the token that it would replace."""
        return self.runner_up_shares or self.confidence

    def path(self, place: int) -> list[int]:
        """The indexes of the tokens from the first one to the one at this index; none for ROOT."""
        return path_to(place, self.parents or chain_of(len(self.tokens)))

    def branched(self, places: Sequence[int]) -> Draft:
        """This chain with its runners-up at these places as leaves, where there are some."""
        leaves = [(place, token) for place in places if (token := self.runners_up[place]) is not None]
        if not leaves:
            return self
        return replace(
            self,
            tokens=self.tokens + tuple(token for _, token in leaves),
            rows=self.rows + tuple(self.rows[place] for place, _ in leaves) if self.rows else (),
            parents=(*chain_of(len(self.tokens)), *(place - 1 for place, _ in leaves)),
        )


NOTHING = Draft(())


@dataclass(slots=True)
class Context:
    """The tokens so far: the prompt and, from `prompt_length` on, the answer. Only the loop changes it.

    `sampler` is the rule in force at the next position, `proposer` what a drafter draws by: the same rule with the
    noise that the verifier wants there. `ends` are the ids that end an answer. `worth_more`, where there
    is one, gets the confidence of each drafted token in turn, and says whether drafting another one pays; it must
    not be asked about a token that is then left out. Drafters that sharpen draw with this `sharpness`. `branching` asks
    for runners-up.
    """

    tokens: list[int]
    prompt_length: int
    sampler: Sampler
    ends: frozenset[int] = frozenset()
    worth_more: Callable[[float], bool] | None = None
    sharpness: float = 1.0
    branching: bool = False
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
    the power of `Context.sharpness`. All of its drafts are trees with up to `beside` tokens beside a chain of k.
    """

    name: str
    evidence: Literal["confidence", "match", "nothing"]
    cost: Literal["step", "draft", "nothing"]
    longest: int = 16
    sharpens: bool = False
    beside: int = 0


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
        """Learns the verdict on its draft, or on one that it added to; the context already holds what was kept."""
