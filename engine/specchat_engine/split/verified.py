"""The side of the target: an answer whose drafts somebody else makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from specchat_engine.decoding.drafts import Context, Draft
from specchat_engine.decoding.generate import Limit, Plan, Step, generate
from specchat_engine.decoding.verification import ProposalLaw, Verdict
from specchat_engine.errors import SettingError
from specchat_engine.models import CausalModel
from specchat_engine.split.draws import Draws
from specchat_engine.verifiers import COUPLED


class _GivenDraft:
    """Proposes what came from outside."""

    name = "client"
    law: ProposalLaw = "unknown"

    def __init__(self) -> None:
        self.tokens: Sequence[int] = ()

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Nothing: there is nothing to read."""

    def propose(self, context: Context, k: int) -> Draft:
        """The given tokens."""
        return Draft(tuple(self.tokens[:k]), source=self.name)

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Nothing: the other side learns the verdict."""


class VerifiedText:
    """An answer of a target, round by round, as the other side asks for it."""

    def __init__(self, target: CausalModel, context: Context, limit: Limit, *, max_rows: int, n_vocab: int) -> None:
        """The target has read all of the context but its last token. A pass gives `max_rows` rows at most, and
        `limit` says where the answer ends."""
        self._context = context
        self._given = _GivenDraft()
        self._most = max_rows - 1
        self._n_vocab = n_vocab
        self._steps: Iterator[Step] = generate(target, context, self._plan, limit)
        self._end: str | None = None

    def draws(self, position: int, drafted: Sequence[int]) -> Draws:
        """The target's tokens from this output position on, after one pass over the drafted ones.

        Raises SettingError for another position than the text has reached, after the end of the answer, and for more
        tokens, or other ones, than a pass can take.
        """
        if self._end is not None:
            raise SettingError(f"the answer has ended ({self._end}): begin another one")
        if position != self._context.position:
            raise SettingError(f"position is {position}: the answer has {self._context.position} tokens")
        if len(drafted) > self._most:
            raise SettingError(f"{len(drafted)} tokens were drafted: at most {self._most} can be verified at a time")
        if any(not 0 <= token < self._n_vocab for token in drafted):
            raise SettingError(f"a drafted token is not in the vocabulary, which has 0 to {self._n_vocab - 1}")
        self._given.tokens = drafted
        step = next(self._steps)
        self._end = step.end
        return Draws(tuple(self._context.tokens[len(self._context.tokens) - step.kept :]), step.end)

    def _plan(self, context: Context) -> Plan:
        return Plan(self._given, len(self._given.tokens), context.sampler, "drafted elsewhere", COUPLED)
