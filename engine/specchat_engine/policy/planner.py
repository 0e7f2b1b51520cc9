"""Between a session and the controller: before each round who drafts, how much and why; after it, what to learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import Protocol

from specchat_engine.decoding.drafts import Context, Drafter, DrafterTraits, Prospect
from specchat_engine.decoding.generate import Plan, Step
from specchat_engine.decoding.rounds import RoundTimes
from specchat_engine.decoding.verification import Verifier
from specchat_engine.models import SessionModel
from specchat_engine.policy.acceptance import kind_of
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.situation import Decision, Outcome, Situation
from specchat_engine.prompt.context_fit import Fitted
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.settings import AUTO, Settings
from specchat_engine.verifiers import COUPLED, VERIFIERS

_READ_AT_ONCE = 64
"""A drafter with more unread tokens reads them after the first token, so that the answer begins sooner."""

_OPENING = 4
"""An answer begins with this many tokens."""

_WAITS = "the draft model reads the prompt after the first token"


class PlannedDrafter(Drafter, Protocol):
    """A drafter that can be weighed against others before each round."""

    traits: DrafterTraits

    @property
    def threads(self) -> int:
        """The threads that it computes with, 0 where it makes no passes."""

    @property
    def goes_back_freely(self) -> bool:
        """Whether it can read a prompt ahead of time and forget it again at no cost."""

    def open(self, tokens: Sequence[int], prompt: Fitted) -> None:
        """A turn opens with these tokens, the prompt's first; forgets what it has read beyond them."""

    def configure(self, settings: Settings, *, may_vary: bool) -> None:
        """The settings of the next rounds; `may_vary`: drafts may depend on more than the conversation."""

    def prospect(self, context: Context) -> Prospect:
        """What it could draft now. Raises Cancelled while it reads."""

    def foretold(self, emitted: Sequence[int]) -> Sequence[bool]:
        """Which of these tokens followed its last match, up to the first that did not; empty without a match."""

    def end(self, context: Context) -> None:
        """The turn is over."""


@dataclass(frozen=True, slots=True)
class AllowedDrafters:
    """Which drafters these settings allow, by which rule they are verified, and why none is allowed."""

    settings: Settings
    names: tuple[str, ...]
    verifier: Verifier
    because: str

    @classmethod
    def under(cls, settings: Settings, loaded: Sequence[str], plain_because: str = "") -> AllowedDrafters:
        """Of the `loaded` drafters, all for "hybrid"; where the one asked for is not loaded, prompt lookup.

        `plain_because` says why the target cannot speculate, empty if it can.
        """
        names: tuple[str, ...] = ()
        because = plain_because or ("k is 0" if settings.k == 0 else "no drafter")
        if not (plain_because or settings.k == 0 or settings.drafter == "none"):
            wanted = settings.drafter if settings.drafter in ("hybrid", *loaded) else "lookup"
            names = tuple(name for name in loaded if wanted in ("hybrid", name))
        return cls(settings, names, VERIFIERS[settings.verifier], because)

    @property
    def may_vary(self) -> bool:
        """Whether drafts may depend on more than the prompt, the seed and the settings.

        Not where the text depends on them: with a fixed k, a seed is to give the same text again there.
        """
        return self.settings.k == AUTO or (self.verifier.couples and self.verifier.lossless)


class Planner:
    """Makes the plans of a session's rounds; the controller may be shared by all sessions on a pair.

    `drafters` are all that are loaded, by name. `draft_prompt_ms` is how long they have read this turn's prompt so far.
    """

    def __init__(
        self, target: SessionModel, drafters: Sequence[PlannedDrafter], controller: Controller, plain_because: str = ""
    ) -> None:
        """`plain_because` says why this target cannot speculate, empty if it can."""
        self.plain_because = plain_because
        self.draft_prompt_ms = 0.0
        self._target = target
        self.drafters = {drafter.traits.name: drafter for drafter in drafters}
        self._controller = controller
        self._cancelled: Callable[[], bool] = bool
        self._allowed = self._allowed_by(Settings(k=0))
        self._planned: tuple[Situation, Decision] | None = None
        self._thinking_ms = 0.0

    def begin(self, tokens: Sequence[int], prompt: Fitted, settings: Settings, cancelled: Callable[[], bool]) -> None:
        """A turn begins with these tokens, the prompt's first. Raises Cancelled while drafters read them."""
        self.draft_prompt_ms = 0.0
        self._cancelled, self._planned = cancelled, None
        self._controller.begin(kind_of(prompt.request))
        for drafter in self.drafters.values():
            drafter.open(tokens, prompt)
        self._configure(settings)
        for name in self._allowed.names:
            if self.drafters[name].traits.cost == "nothing":
                self.drafters[name].begin(tokens, cancelled)

    def prepare(self, prompt: Fitted, settings: Settings, cancelled: Callable[[], bool]) -> None:
        """Lets drafters read a prompt that is likely to come. Raises Cancelled where `cancelled` says so."""
        for name in self._allowed_by(settings).names:
            drafter = self.drafters[name]
            if drafter.goes_back_freely:
                drafter.open(prompt.tokens, prompt)
                drafter.begin(prompt.tokens, cancelled)

    def plan(
        self, context: Context, settings: Settings, sampler: Sampler, wanted: int, *, rested: bool = False
    ) -> Plan:
        """The next round, of which `wanted` tokens are wanted at most. Raises Cancelled while a drafter reads.

        `rested`: the models computed nothing for a while, so that this round's times say nothing about other rounds.
        """
        began, self._planned, self._thinking_ms = perf_counter_ns(), None, 0.0
        self._controller.use_threads(
            self._target.threads, max((drafter.threads for drafter in self.drafters.values()), default=0)
        )
        if settings is not self._allowed.settings:
            self._configure(settings)
        allowed, longest = self._allowed, min(self._target.max_rows, wanted) - 1
        if not allowed.names:
            return Plan(None, 0, sampler, allowed.because, COUPLED)
        if settings.k != AUTO and len(allowed.names) == 1:
            return self._fixed(context, settings.k, longest, sampler)
        prospects, because = self._prospects(context)
        now = Situation(
            depth=len(context.tokens),
            longest=longest if settings.k == AUTO else min(longest, settings.k),
            prospects=prospects,
            fixed=settings.k != AUTO,
            opening=context.position < _OPENING,
            rested=rested,
        )
        decision = self._controller.decide(now)
        if decision.drafter is None:
            self._note(now, decision, began)
            return Plan(None, 0, sampler, because or decision.reason, COUPLED)
        drafter, name = self.drafters[decision.drafter.name], decision.drafter
        if self._read(drafter, context, prospects[name].unread):
            now, began = replace(now, prospects={**prospects, name: Prospect()}), perf_counter_ns()
        self._note(now, decision, began)
        stop = decision.stop.begin if decision.stop else None
        return Plan(drafter, decision.k, sampler, decision.reason, allowed.verifier, stop)

    def learn(self, context: Context, step: Step, times: RoundTimes, *, rested: bool) -> None:
        """Learns what became of the round that was planned last, from its times without its reader's time.

        `rested`: the models computed nothing for a while before it, so that its times say nothing about other rounds.
        """
        if self._planned is None:
            return
        (now, decision), self._planned = self._planned, None
        draft, verdict = step.draft, step.verdict
        emitted = context.tokens[now.depth :]
        outcome = Outcome(
            drafted=len(draft.tokens),
            accepted=verdict.accepted,
            compared=verdict.compared,
            emitted=step.kept,
            verify_ms=times.verify,
            draft_ms=times.draft,
            other_ms=max(0.0, times.other + times.rollback - self._thinking_ms),
            confidence=draft.confidence,
            matched={
                traits: self.drafters[traits.name].foretold(emitted)
                for traits, prospect in now.prospects.items()
                if prospect.match
            },
        )
        self._controller.learn(replace(now, rested=rested), decision, outcome)

    def end(self, context: Context | None) -> None:
        """The turn is over, with this context if it had any."""
        self._planned = None
        if context:
            for drafter in self.drafters.values():
                drafter.end(context)

    def _allowed_by(self, settings: Settings) -> AllowedDrafters:
        return AllowedDrafters.under(settings, tuple(self.drafters), self.plain_because)

    def _configure(self, settings: Settings) -> None:
        self._allowed = allowed = self._allowed_by(settings)
        for name in allowed.names:
            self.drafters[name].configure(settings, may_vary=allowed.may_vary)

    def _prospects(self, context: Context) -> tuple[dict[DrafterTraits, Prospect], str]:
        """What the allowed drafters could do now, and why one of them can do nothing."""
        prospects, because = {}, ""
        for name in self._allowed.names:
            drafter = self.drafters[name]
            prospect = drafter.prospect(context)
            waits = _WAITS if self._waits(context, prospect) else ""
            if prospect.note or waits:
                because = prospect.note or waits
            else:
                prospects[drafter.traits] = prospect
        return prospects, because

    def _waits(self, context: Context, prospect: Prospect) -> bool:
        """Whether a drafter reads the prompt after the first token."""
        return self._allowed.may_vary and context.position == 0 and prospect.unread > _READ_AT_ONCE

    def _fixed(self, context: Context, k: int, longest: int, sampler: Sampler) -> Plan:
        """A round with the only drafter there is, and a fixed k: there is nothing to decide, or to learn."""
        drafter = self.drafters[self._allowed.names[0]]
        if drafter.traits.cost != "nothing":
            prospect = drafter.prospect(context)
            if prospect.note or self._waits(context, prospect):
                return Plan(None, 0, sampler, prospect.note or _WAITS, COUPLED)
            self._read(drafter, context, prospect.unread)
        reserved = self._target.max_rows - 1
        limited = "all that are still wanted" if longest < reserved else "all that were reserved at load"
        return Plan(drafter, min(k, longest), sampler, "fixed" if k <= longest else limited, self._allowed.verifier)

    def _read(self, drafter: PlannedDrafter, context: Context, unread: int) -> bool:
        """Lets a drafter read a prompt, or much else, apart from the round; whether there was so much to read."""
        if unread <= min(_READ_AT_ONCE, context.position + 1):
            return False
        began = perf_counter_ns()
        drafter.begin(context.tokens, self._cancelled)
        took_ms = (perf_counter_ns() - began) / 1e6
        self.draft_prompt_ms += took_ms
        if self._allowed.settings.k == AUTO:
            self._controller.read(drafter.traits.name, len(context.tokens), unread - 1, took_ms)
        return True

    def _note(self, now: Situation, decision: Decision, began_ns: int) -> None:
        """Remembers what was decided; what deciding took is no part of what the round costs."""
        self._planned = now, decision
        self._thinking_ms = (perf_counter_ns() - began_ns) / 1e6
