"""What a drafter sees, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.verification import ProposalLaw, Verdict
from specchat_engine.models import CausalModel
from specchat_engine.prompt.encoding import Fitted
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.settings import Settings
from specchat_engine.trees import ROOT as ROOT
from specchat_engine.trees import chain_of, path_to


@dataclass(frozen=True, slots=True)
class Alternative:
    """A token that may be drafted beside a chain: the last one of `path`, which begins with the first token of a draft.

    `evidence` says how likely it is right if those before it are. For a `runner_up` of a token that seems likelier it
    is the confidence in that one, or its own share if the drafter counts what followed; for others it is the evidence
    that a token of the chain would have. `row` is the distribution that it was drawn from, None for a point mass.
    """

    path: tuple[int, ...]
    evidence: float = 0.0
    runner_up: bool = True
    row: Candidates | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """Drafted tokens, in order. `rows[i]` is the distribution that token i was drawn from; empty for point masses.

    `confidence[i]` in [0, 1] says how sure the drafter was of token i, if it was asked. `note` says why it drafted
    less than it was allowed.

    `parents[i]` is the index of the token that token i follows, which comes before it, or ROOT; without parents the
    draft is a chain. A tree begins with a chain, to which its confidences belong. `alternatives` are what may be
    drafted beside the chain, if that was asked for: each one after that which it follows.

    `source` is the drafter.
    """

    tokens: tuple[int, ...]
    rows: tuple[Candidates, ...] = ()
    source: str = "none"
    note: str = ""
    confidence: tuple[float, ...] = ()
    parents: tuple[int, ...] = ()
    alternatives: tuple[Alternative, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def trunk(self) -> int:
        """How many tokens its first chain has, all of them without parents. The other tokens branch off from it."""
        return next((index for index, parent in enumerate(self.parents) if parent != index - 1), len(self.tokens))

    def path(self, place: int) -> list[int]:
        """The indexes of the tokens from the first one to the one at this index; none for ROOT."""
        return path_to(place, self.parents or chain_of(len(self.tokens)))

    def branched(self, chosen: Sequence[Alternative], kept: int | None = None) -> Draft:
        """The first `kept` tokens of this chain, or all, with some of its alternatives, each after what it follows."""
        chain = self.tokens[:kept]
        if not chosen and len(chain) == len(self.tokens):
            return self
        paths = [*(chain[:end] for end in range(len(chain) + 1)), *(alternative.path for alternative in chosen)]
        index_of = {path: index for index, path in enumerate(paths, ROOT)}
        return replace(
            self,
            tokens=chain + tuple(alternative.path[-1] for alternative in chosen),
            rows=self.rows[:kept] + tuple(alternative.row for alternative in chosen if alternative.row is not None),
            confidence=self.confidence[:kept],
            parents=tuple(index_of[path[:-1]] for path in paths[1:]) if chosen else (),
        )


def along_the_chain(draft: Draft, verdict: Verdict) -> tuple[int, int]:
    """How many tokens of a draft's first chain were compared and accepted."""
    accepted = sum(node == index for index, node in enumerate(verdict.nodes))
    return min(verdict.compared, accepted + 1, draft.trunk), accepted


NOTHING = Draft(())


class Branches(Protocol):
    """Makes a tree of a draft with alternatives."""

    def __call__(self, draft: Draft) -> Draft:
        """The draft with those of its alternatives that are worth their time."""

    def next_read(self, draft: Draft, ends: Sequence[Alternative]) -> Alternative | None:
        """Which of these alternatives a draft model should read beside the draft's last token; None for none."""


@dataclass(slots=True)
class Context:
    """The tokens so far: the prompt and, from `prompt_length` on, the answer. Only the loop changes it.

    `sampler` is the rule in force at the next position, `proposer` what a drafter draws by: the same rule with the
    noise that the verifier wants there. `ends` are the ids that end an answer. `worth_more`, where there
    is one, gets the confidence of each drafted token in turn, and says whether drafting another one pays; it must
    not be asked about a token that is then left out. Drafters that sharpen draw with this `sharpness`. `branches`,
    where there is one, asks for alternatives.
    """

    tokens: list[int]
    prompt_length: int
    sampler: Sampler
    ends: frozenset[int] = frozenset()
    worth_more: Callable[[float], bool] | None = None
    sharpness: float = 1.0
    branches: Branches | None = None
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
    """What the policy needs to know of a drafter to compare its drafts with others.

    `evidence` shows how likely a drafted token stands: the drafter's own "confidence", the length of the "match" that
    it continues, or "nothing". A drafter that is "certain" has a match as long as its certain tokens. `cost`: each
    "step" is a pass of its own, a "draft" is one pass, or drafting costs "nothing". Where k is free, drafts have at
    most `longest` tokens. A drafter `sharpens` if it draws from its rows to the power of `Context.sharpness`. All of
    its drafts are trees with up to `beside` tokens beside a chain of k.
    """

    name: str
    evidence: Literal["confidence", "match", "certain", "nothing"]
    cost: Literal["step", "draft", "nothing"]
    longest: int = 16
    sharpens: bool = False
    beside: int = 0

    @property
    def needs_match(self) -> bool:
        """Whether it can only draft where it has a match."""
        return self.evidence in ("match", "certain")


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


class Drafter:
    """Proposes tokens. `propose` is all that a drafter has to write; see `Engine.load` for one of your own.

    The text does not depend on it under the verifier "coupled", whatever it proposes. The policy knows it by its
    `traits`. Each turn opens it, lets it draft, and ends it.
    """

    traits = DrafterTraits("", evidence="nothing", cost="draft")

    @property
    def name(self) -> str:
        """The source of its tokens, as rounds and statistics name it."""
        return self.traits.name

    @property
    def law(self) -> ProposalLaw:
        """The law of its proposals, which verifiers that compare p with q rely on.

        "point" if they are a function of the tokens so far, "drawn" if `context.proposer` draws each one from the row
        that comes with it, "either" for one or the other in each draft, and "unknown" to promise neither.
        """
        return "unknown"

    @property
    def threads(self) -> int:
        """The threads that it computes with; 0 if it makes no passes."""
        return 0

    @property
    def goes_back_freely(self) -> bool:
        """Whether it can read a prompt ahead of time and forget it again at no cost."""
        return False

    def unfit(self, target: CausalModel) -> str:
        """Returns why it cannot draft for this target, empty if it can."""
        return ""

    def open(self, tokens: Sequence[int], prompt: Fitted) -> None:
        """Starts a turn with these tokens, the beginning of the prompt. Forgets what it has read beyond them."""

    def configure(self, settings: Settings, *, may_vary: bool) -> None:
        """Takes the settings of the next rounds. `may_vary`: drafts may depend on more than the conversation."""

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Reads the text so far before the first draft of a turn, if there is something to read or to index.

        The turn may follow the last one, or be another conversation. Raises Cancelled when `cancelled` says so.
        """

    def prospect(self, context: Context) -> Prospect:
        """Returns what it could draft now. Raises Cancelled if the turn is cancelled while it reads."""
        return Prospect()

    def propose(self, context: Context, k: int) -> Draft:
        """Returns at most k tokens that may follow `context.tokens`, or none. Never changes the context."""
        raise NotImplementedError

    def watch(self, context: Context, draft: Draft, verdict: Verdict, logits: NDArray[np.float32]) -> None:
        """Learns from a pass of the target, whoever drafted; see `generate.Watch`."""

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Learns the verdict on its draft; the context already holds what was kept."""

    def match_continuation(self, k: int) -> tuple[int, ...]:
        """Returns up to k tokens that followed its last match; none without a match."""
        return ()

    def end(self, context: Context) -> None:
        """Ends the turn."""
