"""Before each round: who drafts, how many tokens, and why; after it: what is to be learned from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns

from specchat_engine.control.controller import Controller, Decision, Outcome, Situation
from specchat_engine.control.kinds import kind_of
from specchat_engine.drafters import ModelDrafter, PromptLookupDrafter
from specchat_engine.drafters.matches import Match
from specchat_engine.drafts import Context, Drafter
from specchat_engine.generate import Plan, Step
from specchat_engine.models import SessionModel
from specchat_engine.rounds import RoundTimes
from specchat_engine.sampling import Sampler
from specchat_engine.settings import AUTO, Settings
from specchat_engine.verifiers import VERIFIERS

_AT_ONCE = 64
"""A draft model that has more tokens of the prompt to read than this reads them behind the first token."""


class Planner:
    """Makes the plans of a session's rounds; the controller may be shared by all sessions on a pair.

    `draft_prompt_ms` is how long the draft model has read the turn's prompt so far.
    """

    def __init__(
        self, target: SessionModel, draft: SessionModel | None, controller: Controller, plain_because: str
    ) -> None:
        """`plain_because` says why this target cannot speculate, empty if it can."""
        self.plain_because = plain_because
        self.draft_prompt_ms = 0.0
        self._target = target
        self._model = ModelDrafter(draft) if draft else None
        self._lookup = PromptLookupDrafter()
        self._indexed = False
        self._controller = controller
        self._cancelled: Callable[[], bool] = bool
        self._situation: Situation | None = None
        self._decision = Decision("none", 0, "")
        self._match: Match | None = None

    def begin(self, tokens: Sequence[int], request: str, settings: Settings, cancelled: Callable[[], bool]) -> None:
        """A turn begins with this prompt. Raises Cancelled while drafters read it."""
        self.draft_prompt_ms = 0.0
        self._cancelled = cancelled
        self._situation = None
        self._controller.begin(kind_of(request))
        self._indexed = False
        if self._lookup_may(settings):
            self._lookup_drafter(tokens, settings)
        if self._model:
            self._model.model.keep(tokens[:-1])
            if self._model_may(settings) and not self._waits(tokens, settings):
                self._read(tokens)

    def prepare(self, tokens: Sequence[int], settings: Settings, cancelled: Callable[[], bool]) -> None:
        """Lets the draft model read a prompt that is likely to come. Raises Cancelled between two of its chunks."""
        if self._model and self._model.model.goes_back_freely and self._model_may(settings):
            self._model.begin(tokens, cancelled)

    def plan(self, context: Context, settings: Settings, sampler: Sampler, wanted: int) -> Plan:
        """The next round, of which `wanted` tokens are wanted at most. Raises Cancelled while the draft model reads."""
        self._situation = None
        model, lookup = self._model_may(settings), self._lookup_may(settings)
        if not (model or lookup):
            return Plan(None, 0, sampler, self.plain_because or ("k is 0" if settings.k == 0 else "no drafter"))
        if model and self._model and len(context.tokens) > self._model.model.capacity:
            model = False
            if not lookup:
                return Plan(None, 0, sampler, f"the draft's context of {self._model.model.capacity} tokens is full")
        longest, limited = self._target.max_rows - 1, "all that were reserved at load"
        if wanted - 1 < longest:
            longest, limited = wanted - 1, "all that are still wanted"
        if model and context.position == 0 and self._waits(context.tokens, settings):
            model = False
            if not lookup:
                return Plan(None, 0, sampler, "the draft model reads the prompt behind the first token")
        verifier = VERIFIERS[settings.verifier]
        if settings.k != AUTO and model != lookup:
            reason = "fixed" if settings.k <= longest else limited
            drafter = self._drafter("model" if model else "lookup", context, settings)
            return Plan(drafter, min(settings.k, longest), sampler, reason, verifier)
        if settings.k != AUTO:
            longest = min(longest, settings.k)
        now = self._situation_of(context, settings, model, lookup, longest)
        decision = self._controller.decide(now)
        self._situation, self._decision = now, decision
        drafter = self._drafter(decision.source, context, settings)
        return Plan(drafter, decision.k, sampler, decision.reason, verifier, decision.worth_more)

    def learn(self, context: Context, step: Step, times: RoundTimes) -> None:
        """Hears what became of the round that was planned last."""
        now = self._situation
        if now is None:
            return
        verdict = step.verdict
        emitted = context.tokens[now.depth :]
        self._controller.learn(
            now,
            self._decision,
            Outcome(
                drafted=len(step.draft),
                accepted=verdict.accepted,
                compared=verdict.compared,
                emitted=step.kept,
                confidence=step.draft.confidence,
                foretold=self._foretold(emitted),
                verify_ms=times.verify,
                draft_ms=times.draft,
                other_ms=times.other + times.rollback,
            ),
        )

    def measured_plain(self, depth: int, milliseconds: float) -> None:
        """Hears of a target pass over one token that was made between two answers."""
        self._controller.target.observe(1, depth, milliseconds)

    def _situation_of(self, context: Context, settings: Settings, model: bool, lookup: bool, longest: int) -> Situation:
        self._match = self._lookup_drafter(context.tokens, settings).find(context) if lookup else None
        return Situation(
            depth=len(context.tokens),
            unread=self._unread(context.tokens) if model else 0,
            match=self._match.length if self._match else 0,
            longest=longest,
            model=model,
            lookup=lookup,
            free=settings.k == AUTO,
        )

    def _model_may(self, settings: Settings) -> bool:
        """Whether the draft model may draft; where it was asked for and there is none, lookup does."""
        return not self._off(settings) and self._model is not None and settings.drafter in ("model", "hybrid")

    def _lookup_may(self, settings: Settings) -> bool:
        wanted = settings.drafter in ("lookup", "hybrid") or self._model is None
        return not self._off(settings) and wanted

    def _off(self, settings: Settings) -> bool:
        return settings.k == 0 or settings.drafter == "none" or bool(self.plain_because)

    def _drafter(self, source: str, context: Context, settings: Settings) -> Drafter | None:
        """Who drafts, having read what it must."""
        if source == "model" and self._model:
            if self._unread(context.tokens) > _AT_ONCE:
                self._read(context.tokens)
            return self._model
        return self._lookup_drafter(context.tokens, settings) if source == "lookup" else None

    def _lookup_drafter(self, tokens: Sequence[int], settings: Settings) -> PromptLookupDrafter:
        """Prompt lookup with the n-grams of now; its index keeps what the last turn shares with this one."""
        if (self._lookup.ngram_min, self._lookup.ngram_max) != (settings.ngram_min, settings.ngram_max):
            self._lookup = PromptLookupDrafter(settings.ngram_min, settings.ngram_max)
            self._indexed = False
        if not self._indexed:
            self._lookup.begin(tokens, self._cancelled)
            self._indexed = True
        return self._lookup

    def _waits(self, tokens: Sequence[int], settings: Settings) -> bool:
        """Whether the draft model reads its prompt behind the first token.

        Not where the text may depend on who drafted when: there a fixed k and a seed are to give the same text again.
        """
        rule = VERIFIERS[settings.verifier]
        free = settings.k == AUTO or (rule.couples and rule.lossless)
        return free and self._unread(tokens) > _AT_ONCE

    def _unread(self, tokens: Sequence[int]) -> int:
        return len(tokens) - self._model.model.length if self._model else 0

    def _read(self, tokens: Sequence[int]) -> None:
        if self._model:
            begin = perf_counter_ns()
            self._model.begin(tokens, self._cancelled)
            self.draft_prompt_ms += (perf_counter_ns() - begin) / 1e6

    def _foretold(self, emitted: Sequence[int]) -> list[bool]:
        """Of the emitted tokens, as far as they agree with the match and one further: which of them followed it."""
        if self._match is None:
            return []
        said: list[bool] = []
        for token, foretold in zip(emitted, self._lookup.continuation(self._match, len(emitted)), strict=False):
            said.append(token == foretold)
            if token != foretold:
                break
        return said
