"""Connects a session to the controller: plans each round before it is made, and learns from it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.drafts import Context, Draft, Drafter, DrafterTraits, Prospect, along_the_chain
from specchat_engine.decoding.generate import Plan, Step
from specchat_engine.decoding.rounds import LimitedBy, RoundTimes
from specchat_engine.decoding.verification import Verdict, Verifier
from specchat_engine.errors import SettingError
from specchat_engine.models import ALONE, BranchingModel, SessionModel, SharedPass
from specchat_engine.policy.acceptance import kind_of
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.policy import Decision, RoundOutcome, Situation
from specchat_engine.policy.trees import Branching
from specchat_engine.prompt.encoding import Fitted
from specchat_engine.sampling.noise import gumbel
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.settings import AUTO, DRAFTERS, GRAMMAR, NEED_TREES, Settings, drafts_together
from specchat_engine.verifiers import COUPLED, VERIFIERS

_READ_AT_ONCE = 64
"""With more unread tokens than this a drafter waits until the first token is out, so that the answer begins sooner."""

_OPENING = 4
"""The first tokens of an answer, its opening."""

_WAITS = "the drafter reads the prompt after the first token"
_FULL = "the context has no room for a tree"


@dataclass(frozen=True, slots=True)
class AllowedDrafters:
    """The drafters that the settings allow, the rule that verifies them, and why none is allowed."""

    settings: Settings
    names: tuple[str, ...]
    verifier: Verifier
    because: str

    @classmethod
    def under(cls, settings: Settings, loaded: Sequence[str], plain_because: str = "") -> AllowedDrafters:
        """The `loaded` ones of draft model and prompt lookup for "hybrid", else the one asked for, or prompt lookup if
        that one is not loaded.

        `plain_because` says why the target cannot speculate; empty if it can. Raises SettingError for a drafter that
        nobody gave or installed.
        """
        if settings.drafter not in (*DRAFTERS, *loaded):
            own = [name for name in loaded if name not in DRAFTERS]
            raise SettingError(f"there is no drafter {settings.drafter!r}: use {', '.join((*DRAFTERS, *own))}")
        names: tuple[str, ...] = ()
        because = plain_because or ("k is 0" if settings.k == 0 else "no drafter")
        if not (plain_because or settings.k == 0 or settings.drafter == "none"):
            wanted = settings.drafter if settings.drafter in ("hybrid", *loaded) else "lookup"
            if wanted in NEED_TREES and not VERIFIERS[settings.verifier].walk:
                because = f"{wanted} drafts trees, which the verifier {settings.verifier} cannot judge"
                return cls(settings, (), VERIFIERS[settings.verifier], because)
            names = tuple(name for name in loaded if wanted == name or (wanted == "hybrid" and drafts_together(name)))
        return cls(settings, names, VERIFIERS[settings.verifier], because)

    @property
    def may_vary(self) -> bool:
        """Whether drafts may depend on more than the prompt, the seed and the settings.

        They may not with a fixed k if the text depends on drafts, because a seed must repeat the text then.
        """
        return self.settings.k == AUTO or (self.verifier.couples and self.settings.lossless)


class Planner:
    """Plans the rounds of one session. All sessions of a pair may share the controller.

    `drafters` has all loaded drafters by name. `draft_prompt_ms` is the time that they spent on reading this turn's
    prompt so far.
    """

    def __init__(
        self,
        target: SessionModel,
        drafters: Sequence[Drafter],
        controller: Controller,
        plain_because: str = "",
        shared_pass: Callable[[], SharedPass] = lambda: ALONE,
    ) -> None:
        """`plain_because` says why this target cannot speculate, empty if it can. `shared_pass` returns what others
        added to the last pass."""
        self._shared_pass = shared_pass
        self.plain_because = plain_because
        self.draft_prompt_ms = 0.0
        self._target = target
        self.drafters = {drafter.traits.name: drafter for drafter in drafters}
        self._controller = controller
        self._cancelled: Callable[[], bool] = bool
        self._allowed = self._allowed_by(Settings(k=0))
        self._most_branches = target.max_leaves - 1 if isinstance(target, BranchingModel) else 0
        self._planned: tuple[Situation, Decision] | None = None
        self._thinking_ms = 0.0

    def use(self, drafters: Sequence[Drafter]) -> None:
        """Plans with these drafters from the next turn on, and keeps what those of the same names know."""
        self.drafters = {drafter.traits.name: self.drafters.get(drafter.traits.name, drafter) for drafter in drafters}

    def begin(self, tokens: Sequence[int], prompt: Fitted, settings: Settings, cancelled: Callable[[], bool]) -> None:
        """Starts a turn with these tokens, the beginning of the prompt. Raises Cancelled if `cancelled` says so."""
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
        """Lets drafters read a prompt that is likely to come. Raises Cancelled if `cancelled` says so."""
        for name in self._allowed_by(settings).names:
            drafter = self.drafters[name]
            if drafter.goes_back_freely:
                drafter.open(prompt.tokens, prompt)
                drafter.begin(prompt.tokens, cancelled)

    def plan(
        self, context: Context, settings: Settings, sampler: Sampler, wanted: int, *, after_pause: bool = False
    ) -> Plan:
        """The plan of the next round, which may emit `wanted` tokens. Raises Cancelled if the turn is cancelled.

        `after_pause`: the models were idle, so that the times of this round say nothing about other rounds.
        """
        began, self._planned, self._thinking_ms = perf_counter_ns(), None, 0.0
        self._controller.use_threads(
            self._target.threads, max((drafter.threads for drafter in self.drafters.values()), default=0)
        )
        if settings is not self._allowed.settings:
            self._configure(settings)
        allowed, longest = self._allowed, min(self._target.max_rows, wanted) - 1
        names = tuple(name for name in allowed.names if name != GRAMMAR or sampler.constraint)
        longest_by: LimitedBy = "rows" if self._target.max_rows < wanted else "wanted"
        if not names:
            return Plan(None, 0, sampler, "no grammar" if allowed.names else allowed.because, COUPLED)
        if settings.k != AUTO and len(names) == 1:
            return self._fixed(context, settings, longest, longest_by, sampler, names[0])
        prospects, because = self._prospects(context, names)
        longest = longest if settings.k == AUTO else min(longest, settings.k)
        situation = Situation(
            depth=len(context.tokens),
            longest=longest,
            prospects=prospects,
            longest_by=longest_by,
            fixed=settings.k != AUTO,
            opening=context.position < _OPENING,
            after_pause=after_pause,
            tree=self._tree(context, settings, longest),
            tree_fixed=settings.tree != AUTO,
            shared_pass=self._shared_pass(),
            due=self._controller.due,
        )
        decision = self._controller.decide(situation)
        if decision.drafter is None:
            self._note(situation, decision, began)
            expected = None if because else decision.expected
            limited_by: LimitedBy = "" if because else decision.limited_by
            return Plan(None, 0, sampler, because or decision.reason, COUPLED, limited_by, expected=expected)
        traits = decision.drafter
        drafter = self.drafters[traits.name]
        self._note(situation, decision, began)
        if self._read(drafter, context, prospects[traits].unread):
            self._planned = replace(situation, prospects={**prospects, traits: Prospect()}), decision
        stop = decision.stop.begin if decision.stop else None
        power = self._sharpness(traits, settings)
        return Plan(
            drafter,
            decision.k,
            sampler,
            decision.reason,
            allowed.verifier,
            decision.limited_by,
            stop,
            decision.expected,
            power,
            decision.branches,
        )

    def watch(self, context: Context, draft: Draft, verdict: Verdict, logits: NDArray[np.float32]) -> None:
        """Shows a pass to the allowed drafters."""
        for name in self._allowed.names:
            self.drafters[name].watch(context, draft, verdict, logits)

    def learn(self, context: Context, step: Step, times: RoundTimes) -> None:
        """Learns from the round that was planned last. `times` are without the time that its reader took."""
        self._learn_sharpness(context, step)
        if self._planned is None:
            return
        (situation, decision), self._planned = self._planned, None
        draft, verdict = step.draft, step.verdict
        emitted = tuple(context.tokens[situation.depth :])
        compared, accepted = along_the_chain(draft, verdict)
        length = draft.trunk
        if decision.drafter and decision.drafter.beside:
            compared, accepted, length = verdict.compared, verdict.accepted, min(decision.k, len(draft.tokens))
        shared_pass = self._shared_pass()
        outcome = RoundOutcome(
            shared_pass=shared_pass,
            drafted=length,
            accepted=accepted,
            compared=compared,
            branches=len(draft.tokens) - length,
            runners_up=[
                (alternative.evidence, alternative.path[-1] == emitted[depth])
                for alternative in draft.alternatives
                if alternative.runner_up
                and (depth := len(alternative.path) - 1) < step.num_emitted
                and alternative.path[:-1] == emitted[:depth]
            ],
            emitted=step.num_emitted,
            verify_ms=times.verify,
            draft_ms=times.draft,
            other_ms=0.0 if shared_pass.answers else max(0.0, times.other + times.rollback - self._thinking_ms),
            confidence=draft.confidence,
            matched={
                traits: followed(emitted, self.drafters[traits.name].match_continuation(len(emitted)))
                for traits, prospect in situation.prospects.items()
                if prospect.match
            },
        )
        self._controller.learn(situation, decision, outcome)

    def end(self, context: Context | None) -> None:
        """Ends the turn. `context` is None if nothing was generated."""
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

    def _prospects(self, context: Context, names: Sequence[str]) -> tuple[dict[DrafterTraits, Prospect], str]:
        """What these drafters could do now, and why one of them cannot draft, if so."""
        prospects, because = {}, ""
        for name in names:
            drafter = self.drafters[name]
            prospect = drafter.prospect(context)
            if note := self._cannot(context, drafter.traits, prospect):
                because = note
            else:
                prospects[drafter.traits] = prospect
        return prospects, because

    def _cannot(self, context: Context, drafter: DrafterTraits, prospect: Prospect) -> str:
        """Why a drafter cannot draft now, empty if it can. It reads only after the first token is out."""
        waits = self._allowed.may_vary and context.position == 0 and prospect.unread > _READ_AT_ONCE
        full = drafter.beside and drafter.longest + drafter.beside > self._room(context)
        return prospect.note or (_WAITS if waits else _FULL if full else "")

    def _room(self, context: Context) -> int:
        """How many drafted tokens the target's memory has room for."""
        return self._target.capacity - len(context.tokens)

    def _tree(self, context: Context, settings: Settings, longest: int) -> int:
        """How many tokens a draft may have beside its chain, which with a fixed k has `longest` tokens."""
        if not self._allowed.verifier.walk or (settings.tree == AUTO and settings.k != AUTO):
            return 0
        most = min(self._most_branches, self._room(context) - longest)
        if settings.k != AUTO:
            most = min(most, self._target.max_rows - 1 - longest)
        if settings.tree != AUTO:
            most = min(most, settings.tree)
        return max(0, most)

    def _fixed(
        self, context: Context, settings: Settings, longest: int, longest_by: LimitedBy, sampler: Sampler, name: str
    ) -> Plan:
        """A round with a fixed k and only the drafter with this name, so nothing has to be decided.

        Nothing is learned either: drafters report confidences only if asked, and then each takes extra time.
        """
        drafter, k = self.drafters[name], int(settings.k)
        prospect = drafter.prospect(context) if drafter.traits.cost != "nothing" else Prospect()
        if note := self._cannot(context, drafter.traits, prospect):
            return Plan(None, 0, sampler, note, COUPLED)
        if drafter.traits.cost != "nothing":
            self._read(drafter, context, prospect.unread)
        limited = "all that are still wanted" if longest_by == "wanted" else "all that were reserved at load"
        power = self._sharpness(drafter.traits, settings)
        tree = self._tree(context, settings, min(k, longest))
        return Plan(
            drafter,
            min(k, longest),
            sampler,
            "fixed" if k <= longest else limited,
            self._allowed.verifier,
            "fixed" if k <= longest else longest_by,
            sharpness=power,
            branches=Branching(tree, fixed=True) if tree else None,
        )

    def _sharpness(self, drafter: DrafterTraits, settings: Settings) -> float:
        """The power of q that a drafter draws from."""
        if settings.sharpness != AUTO:
            return settings.sharpness if drafter.sharpens else 1.0
        return self._controller.sharpness(drafter.name).best if drafter.sharpens and self._allowed.may_vary else 1.0

    def _learn_sharpness(self, context: Context, step: Step) -> None:
        """Learns from the compared tokens of a round. Only a lossless rule that couples shows the target's draw."""
        plan, draft = step.plan, step.draft
        drafter = draft.source
        shows_draw = plan.verifier.couples and plan.verifier.lossless
        if not (draft.rows and shows_draw and self.drafters[drafter].traits.sharpens):
            return
        sharpness, begin = self._controller.sharpness(drafter), len(context.tokens) - step.num_emitted
        compared, _ = along_the_chain(draft, step.verdict)
        for offset, row in enumerate(draft.rows[: min(compared, step.num_emitted)]):
            if row.only is None:
                noise = gumbel(plan.sampler.seed, begin + offset - context.prompt_length, row.ids)
                sharpness.observe(row, noise, context.tokens[begin + offset], plan.sharpness)

    def _read(self, drafter: Drafter, context: Context, unread: int) -> bool:
        """Lets a drafter read a prompt, or many other tokens, before the round. Returns whether it did.

        A few tokens are left to the draft itself, and a drafter without unread tokens has nothing to read.
        """
        if unread <= min(_READ_AT_ONCE, context.position + 1):
            return False
        began = perf_counter_ns()
        drafter.begin(context.tokens, self._cancelled)
        took_ms = (perf_counter_ns() - began) / 1e6
        self.draft_prompt_ms += took_ms
        if self._allowed.settings.k == AUTO:
            self._controller.learn_reading(drafter.traits.name, unread - 1, took_ms)
        return True

    def _note(self, situation: Situation, decision: Decision, began_ns: int) -> None:
        """Remembers the decision, and the time that it took, which does not belong to the cost of the round."""
        self._planned = situation, decision
        self._thinking_ms = (perf_counter_ns() - began_ns) / 1e6


def followed(emitted: Sequence[int], expected: Sequence[int]) -> list[bool]:
    """Which of the emitted tokens were expected, up to and including the first that was not."""
    right: list[bool] = []
    for token, wanted in zip(emitted, expected, strict=False):
        right.append(token == wanted)
        if token != wanted:
            break
    return right
