"""Drafting with a small model that shares the target's vocabulary, or with a head of the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.drafts import Alternative, Branches, Context, Draft, Drafter, DrafterTraits, Prospect
from specchat_engine.decoding.verification import ProposalLaw, Verdict
from specchat_engine.drafters.state_heads import StateHeadModel
from specchat_engine.models import ForkingModel, SessionModel
from specchat_engine.prompt.encoding import Fitted
from specchat_engine.settings import DRAFT_MODEL


def drawn(context: Context, row: NDArray[np.float32], before: Sequence[int]) -> Alternative:
    """What a draft model draws from its row [V] after these drafted tokens, with its confidence if that is asked."""
    proposer = context.proposer
    candidates = proposer.candidates(row, context.tokens, before)
    sharpened = candidates.sharpened(context.sharpness)
    token = proposer.draw(sharpened, context.position + len(before))
    sure = proposer.confidence(row, candidates, token) if context.worth_more else 0.0
    return Alternative((*before, token), sure, runner_up=False, row=sharpened)


class SideBranch:
    """The branch beside one chain, which begins after the tokens of the context.

    Each pass of a draft reads the chain's last token. Where a pass over two tokens is worth it, the second one is the
    end of the likeliest branch: a runner-up, then the token that was drawn after it, and so on. A likelier runner-up
    takes its place. So a branch costs no passes of its own. Source: dynamic trees by confidence, as in Li et al.,
    "EAGLE-2", arXiv 2406.16858, here with one branch at a time: more gained nothing in the replay of recorded answers.
    """

    def __init__(self, model: ForkingModel, context: Context, branches: Branches) -> None:
        self._model, self._context, self._branches = model, context, branches
        self._start = len(context.tokens)
        self._read: set[tuple[int, ...]] = set()
        self._end: Alternative | None = None

    def next_row(self, draft: Draft) -> tuple[NDArray[np.float32], list[Alternative]]:
        """The logits [V] after the chain, whose last token is read, and what was drafted beside it meanwhile."""
        token, waiting = draft.tokens[-1], [alternative for alternative in draft.alternatives if alternative.runner_up]
        ends = [end for end in (self._end, *waiting) if end and self._is_open(end)]
        best = self._branches.next_read(draft, ends)
        if best is None:
            return self._model.advance((token,), 1)[0], []
        if best is not self._end:
            self._model.fork(self._start + len(best.path) - 1)
        self._read.add(best.path)
        row, beside = self._model.advance_both(token, best.path[-1])
        self._end = drawn(self._context, beside, best.path)
        return row, [self._end]

    @property
    def forked(self) -> bool:
        """Whether anything was read beside the chain."""
        return bool(self._read)

    def join(self) -> None:
        """Keeps what the context, which has grown, goes on with, of the chain or of the branch."""
        self._model.join(self._context.tokens[:-1], self._start - 1)

    def _is_open(self, end: Alternative) -> bool:
        return end.path not in self._read and end.path[-1] not in self._context.ends


class ModelDrafter(Drafter):
    """Draws from the draft model by the target's rule, and with the target's noise if the verifier is coupled."""

    name: str = DRAFT_MODEL
    law: ProposalLaw = "drawn"
    traits = DrafterTraits(name, evidence="confidence", cost="step", sharpens=True)

    def __init__(self, model: SessionModel, name: str = name) -> None:
        """`name` distinguishes the draft models of one target."""
        self.model = model
        self.name = name
        self.traits = replace(self.traits, name=name)
        self._beside: SideBranch | None = None

    def open(self, tokens: Sequence[int], _: Fitted) -> None:
        """Opens a turn with these tokens: keeps their common prefix in memory and drops the rest."""
        self.model.keep(tokens[:-1])

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Reads the prompt except for its last token, as far as the draft's context reaches."""
        self.model.read(tokens[: min(len(tokens) - 1, self.model.capacity)], cancelled)

    def unread(self, tokens: Sequence[int]) -> int:
        """How many of these tokens it has not read yet."""
        return len(tokens) - self.model.length

    @property
    def threads(self) -> int:
        """The threads that it computes with."""
        return self.model.threads

    @property
    def goes_back_freely(self) -> bool:
        """Whether it can read a prompt ahead of time and forget it again at no cost."""
        return self.model.goes_back_freely

    def prospect(self, context: Context) -> Prospect:
        """What it has to read before it drafts, or why it cannot draft."""
        note = self.full(context.tokens)
        return Prospect(note=note) if note else Prospect(unread=self.unread(context.tokens))

    def room(self, tokens: Sequence[int]) -> int:
        """How many more tokens after these it can surely draft."""
        return self.model.capacity - len(tokens)

    def full(self, tokens: Sequence[int]) -> str:
        """Why it cannot draft after these tokens, empty if it can."""
        full = self.room(tokens) < 0
        return f"the draft's context of {self.model.capacity} tokens is full" if full else ""

    def propose(self, context: Context, k: int) -> Draft:
        """Up to k tokens, each with its row of q; stops after a token that ends the answer or if no more would pay.

        The first pass also reads what the model has not read yet.
        """
        note = self.full(context.tokens)
        if note:
            return Draft((), source=self.name, note=note)
        model, worth_more = self.model, context.worth_more
        room = self.room(context.tokens) + 1
        drafted: list[Alternative] = []
        alternatives: list[Alternative] = []
        self._beside = self._branch(context, k)
        for offset in range(min(k, room)):
            tokens = drafted[-1].path if drafted else ()
            if self._beside and tokens:
                row, others = self._beside.next_row(self._draft(drafted, alternatives, context))
                alternatives += others
            else:
                row = self._next_row(context, tokens)
            if not tokens and k > 1:
                model.checkpoint()
            drawn_token = drawn(context, row, tokens)
            drafted.append(drawn_token)
            if context.branches and drawn_token.row is not None:
                runner_up = context.proposer.runner_up(
                    row, drawn_token.row, drawn_token.path[-1], context.position + offset
                )
                alternatives.append(Alternative((*tokens, runner_up), drawn_token.evidence, row=drawn_token.row))
            if (worth_more and not worth_more(drawn_token.evidence)) or drawn_token.path[-1] in context.ends:
                break
        return self._draft(drafted, alternatives, context)

    def _next_row(self, context: Context, tokens: Sequence[int]) -> NDArray[np.float32]:
        """The logits [V] after the context and the tokens that were drafted so far."""
        row: NDArray[np.float32] = self.model.advance(tokens[-1:] or context.tokens[self.model.length :], 1)[0]
        return row

    def _branch(self, context: Context, k: int) -> SideBranch | None:
        """What it reads beside a chain of k tokens; None if branches are not wanted, or not possible."""
        model = self.model
        if not (context.branches and isinstance(model, ForkingModel) and model.can_fork):
            return None
        return SideBranch(model, context, context.branches) if self.room(context.tokens) >= 2 * k else None

    def _draft(self, drafted: Sequence[Alternative], alternatives: Sequence[Alternative], context: Context) -> Draft:
        """The draft with these tokens."""
        return Draft(
            drafted[-1].path if drafted else (),
            tuple(token.row for token in drafted if token.row is not None),
            self.name,
            confidence=tuple(token.evidence for token in drafted) if context.worth_more else (),
            alternatives=tuple(alternatives),
        )

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Drops what was not accepted, or branched off from what it has read."""
        beside, self._beside = self._beside, None
        if beside and beside.forked:
            beside.join()
            return
        valid = len(context.tokens) - (verdict.token is not None)
        valid -= sum(node >= draft.trunk for node in verdict.path)
        if self.model.length > valid:
            self.model.rewind(valid)


class HeadDrafter(ModelDrafter):
    """Draws from a head as from a draft model; the head looks after the hidden states itself."""

    def __init__(self, name: str, model: SessionModel, longest: int) -> None:
        """`name` is one of settings.HEADS; the head can draft at most `longest` tokens in a row."""
        super().__init__(model)
        self.name = name
        self.traits = DrafterTraits(name, evidence="confidence", cost="step", longest=longest, sharpens=True)

    def propose(self, context: Context, k: int) -> Draft:
        """As a draft model, but no more tokens than the head has layers for."""
        return super().propose(context, min(k, self.traits.longest))


class StateHeadDrafter(HeadDrafter):
    """Draws from a head that needs the target's state of the token before, which the target may not have kept."""

    model: StateHeadModel

    def full(self, tokens: Sequence[int]) -> str:
        """Why it cannot draft after these tokens, empty if it can."""
        if full := super().full(tokens):
            return full
        return "" if self.model.has_state(tokens) else "the target has no hidden state of the token before yet"


def head_drafter(name: str, model: SessionModel, longest: int) -> HeadDrafter:
    """The drafter for a head; see HeadDrafter."""
    kind = StateHeadDrafter if isinstance(model, StateHeadModel) else HeadDrafter
    return kind(name, model, longest)
