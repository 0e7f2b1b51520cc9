"""Before each round: who drafts, how many tokens, and why; after it: what is to be learned from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter_ns

from specchat_engine.decoding.drafts import Context, Drafter
from specchat_engine.decoding.generate import Plan, Step
from specchat_engine.decoding.rounds import RoundTimes
from specchat_engine.drafters import ModelDrafter, TranslatedDrafter
from specchat_engine.models import SessionModel
from specchat_engine.policy.allowed_drafters import Ways
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.kinds import PASTED, kind_of
from specchat_engine.policy.lookup_state import Lookout
from specchat_engine.policy.patience import Patience
from specchat_engine.policy.rehearsal import ENOUGH, Rehearsal
from specchat_engine.policy.situation import Decision, Outcome, Situation
from specchat_engine.prompt.context_fit import Fitted
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.settings import AUTO, Settings
from specchat_engine.verifiers import COUPLED

_AT_ONCE = 64
"""A draft model that has more tokens of the prompt to read than this reads them behind the first token."""

_OPENING = 4
"""An answer begins with so many tokens; what is decided in them is good for no longer, but for drafts of the model."""

_WAITS = "the draft model reads the prompt behind the first token"


class Planner:
    """Makes the plans of a session's rounds; the controller may be shared by all sessions on a pair.

    `draft_prompt_ms` is how long the draft model has read the turn's prompt so far.
    """

    def __init__(
        self,
        target: SessionModel,
        model: ModelDrafter | TranslatedDrafter | None,
        controller: Controller,
        plain_because: str,
    ) -> None:
        """`plain_because` says why this target cannot speculate, empty if it can."""
        self.plain_because = plain_because
        self.draft_prompt_ms = self._thinking_ms = 0.0
        self._target = target
        self._model = model
        self._lookout = Lookout()
        self._controller = controller
        self._cancelled: Callable[[], bool] = bool
        self._ways = self._ways_of(Settings(k=0))
        self._now: Situation | None = None
        self._decision = Decision("none", 0, "")
        self._patience = Patience()
        self._left = self._matched = self._decided_at = self._tested = 0
        self._rested = False

    def begin(self, tokens: Sequence[int], prompt: Fitted, settings: Settings, cancelled: Callable[[], bool]) -> None:
        """A turn begins with these tokens, the prompt's first. Raises Cancelled while drafters read them."""
        self.draft_prompt_ms = self._thinking_ms = 0.0
        self._cancelled = cancelled
        self._now, self._left, self._tested = None, 0, 0
        kind = kind_of(prompt.request)
        self._controller.begin(kind)
        hopeless = self._controller.hopeless
        self._patience.begin(known=self._controller.knows, hopeless=hopeless, copies=kind == PASTED)
        self._lookout.begin(cancelled)
        ways = self._ways = self._ways_of(settings)
        if ways.lookup:
            self._lookout.drafter(tokens, ways)
        if self._model:
            self._model.open(tokens, prompt)
            promises = not hopeless and self._controller.promises(len(tokens), self._target.max_rows - 1)
            likely = promises or settings.k != AUTO
            if ways.model and likely and not self._waits(tokens, ways):
                self._read(tokens)

    def prepare(self, prompt: Fitted, settings: Settings, cancelled: Callable[[], bool]) -> None:
        """Lets the draft model read a prompt that is likely to come. Raises Cancelled between two of its chunks."""
        if self._model and self._model.model.goes_back_freely and self._ways_of(settings).model:
            self._model.open(prompt.tokens, prompt)
            self._model.begin(prompt.tokens, cancelled)

    def plan(
        self, context: Context, settings: Settings, sampler: Sampler, wanted: int, *, rested: bool = False
    ) -> Plan:
        """The next round, of which `wanted` tokens are wanted at most. Raises Cancelled while the draft model reads.

        `rested`: the models computed nothing for a while, so that what this round takes tells nothing of others.
        """
        self._rested, self._now = rested, None
        threads = self._target.threads, self._model.model.threads if self._model else 0
        if threads != self._controller.threads:
            self._left = 0
            self._controller.use_threads(*threads)
        ways = self._ways
        if ways.settings is not settings:
            ways = self._ways = self._ways_of(settings)
            self._left = 0
        model, lookup = ways.model, ways.lookup
        if not (model or lookup):
            return Plan(None, 0, sampler, ways.because)
        if model and self._model and (full := self._model.full(context.tokens)):
            model = False
            if not lookup:
                return Plan(None, 0, sampler, full)
        longest, limited = self._target.max_rows - 1, "all that were reserved at load"
        if wanted - 1 < longest:
            longest, limited = wanted - 1, "all that are still wanted"
        if model and context.position == 0 and self._waits(context.tokens, ways):
            model = False
            if not lookup:
                return Plan(None, 0, sampler, _WAITS)
        if settings.k != AUTO and model != lookup:
            reason = "fixed" if settings.k <= longest else limited
            drafter = self._drafter("model" if model else "lookup", context)
            return Plan(drafter, min(settings.k, longest), sampler, reason, ways.verifier)
        if settings.k != AUTO:
            longest = min(longest, settings.k)
        decision = self._followed(context, model, longest) or self._decided(context, model, lookup, longest)
        drafter = self._drafter(decision.source, context)
        stop = decision.stop.begin if decision.stop else None
        self._patience.planned()
        return Plan(drafter, decision.k, sampler, decision.reason, ways.verifier, stop)

    def learn(self, context: Context, step: Step, times: RoundTimes, *, rested: bool) -> None:
        """Learns what became of the round that was planned last, from its times without its reader's time.

        `rested`: the models computed nothing for a while before it, so that its times say nothing about other rounds.
        """
        now, thinking_ms = self._now, self._thinking_ms
        self._now, self._thinking_ms = None, 0.0
        if now is None:
            return
        draft, verdict, decision = step.draft, step.verdict, self._decision
        outcome = Outcome(
            drafted=len(draft.tokens),
            accepted=verdict.accepted,
            compared=verdict.compared,
            emitted=step.kept,
            confidence=draft.confidence,
            foretold=self._lookout.foretold(context.tokens[now.depth :]) if self._lookout.match else (),
            verify_ms=times.verify,
            draft_ms=times.draft,
            other_ms=times.other + times.rollback - thinking_ms,
            first_ms=draft.first_ms,
        )
        if decision.source == "model":
            self._tested += verdict.compared
        self._controller.learn(now, decision, outcome)
        if not rested:
            self._patience.took(outcome.milliseconds)

    def end(self, context: Context | None) -> None:
        """The turn is over, with this context if it had any."""
        self._now, self._left = None, 0
        self._lookout.end(context)

    def rehearsing(self, context: Context, first: int, free: Callable[[], bool]) -> Iterator[None]:
        """Finds out what the draft model would have been accepted with in an answer that it had little part in, where
        it may draft the next one; see `Rehearsal`."""
        ways, drafter = self._ways, self._model
        asked = ways.model and ways.settings.k == AUTO and ways.verifier is COUPLED and self._tested < ENOUGH
        if asked and isinstance(drafter, ModelDrafter):
            rehearsal = Rehearsal(self._target, drafter.model, context, first, self._controller, free)
            yield from rehearsal.passes()

    @property
    def _follows_a_copy(self) -> bool:
        """Whether each round is looked at, since a copy was left a moment ago."""
        return self._ways.lookup and self._lookout.astray

    def _followed(self, context: Context, model: bool, longest: int) -> Decision | None:
        """The last decision, where it is to be followed once more: not where a match says that a better one is due."""
        decision, match = self._decision, 0
        if self._left < 1 or decision.k > longest or (decision.source == "model" and not model):
            return None
        self._left -= 1
        self._lookout.match = None
        by_match, lookup = decision.source == "lookup", self._ways.lookup
        if by_match or self._follows_a_copy or self._patience.looks(self._left):
            match = self._lookout.look(context, self._ways) if lookup else 0
            if by_match:
                ends = not self._matched <= match < 2 * self._matched
            else:
                ends = self._lookout.resumes or self._patience.struck(decision, match)
                ends = ends or self._patience.falls_short(decision, self._left, context.position - self._decided_at)
            if ends:
                return None
        self._now = self._situation_of(context, match, longest, model, by_match)
        return decision

    def _decided(self, context: Context, model: bool, lookup: bool, longest: int) -> Decision:
        """What the controller makes of all that is known by now, and how long that is good for."""
        begin = perf_counter_ns()
        self._lookout.match = None
        self._matched = self._lookout.look(context, self._ways) if lookup else 0
        now = self._now = self._situation_of(context, self._matched, longest, model, lookup)
        waits = not (model or self._matched) and self._ways.model and context.position == 0
        self._decision = Decision("none", 0, _WAITS) if waits else self._controller.decide(now)
        self._decided_at = context.position
        thinking_ms = (perf_counter_ns() - begin) / 1e6
        self._thinking_ms += thinking_ms
        most = None
        if now.opening and self._decision.source != "model":  # none of it holds once a draft model has read its prompt
            most = _OPENING - 1 - context.position if model or not self._ways.model else 0
        self._left = self._patience.rounds(self._decision, thinking_ms, most) + self._decision.besides
        return self._decision

    def _situation_of(self, context: Context, match: int, longest: int, model: bool, lookup: bool) -> Situation:
        depth = len(context.tokens)
        unread = self._unread(context.tokens) if model else 0
        ahead = self._model.ahead if self._model else 0
        opening = context.position < _OPENING
        free, resumes = self._ways.settings.k == AUTO, self._lookout.resumes
        return Situation(depth, unread, match, longest, model, lookup, free, ahead, opening, resumes, self._rested)

    def _ways_of(self, settings: Settings) -> Ways:
        return Ways.under(settings, has_draft=self._model is not None, plain_because=self.plain_because)

    def _drafter(self, source: str, context: Context) -> Drafter | None:
        """Who drafts, having read what it must: a prompt, and much else, apart from drafting."""
        if source == "model" and self._model:
            if self._unread(context.tokens) > min(_AT_ONCE, context.position + 1):
                self._read(context.tokens)
                if self._now:
                    self._now.unread = self._unread(context.tokens)
            return self._model
        return self._lookout.drafter(context.tokens, self._ways) if source == "lookup" else None

    def _waits(self, tokens: Sequence[int], ways: Ways) -> bool:
        """Whether the draft model reads its prompt behind the first token."""
        return ways.free and self._unread(tokens) > _AT_ONCE

    def _unread(self, tokens: Sequence[int]) -> int:
        return self._model.unread(tokens) if self._model else 0

    def _read(self, tokens: Sequence[int]) -> None:
        """Reads the prompt into the draft model, which belongs to no round, nor does what came before it since one."""
        if self._model:
            begin = perf_counter_ns()
            self._model.begin(tokens, self._cancelled)
            took_ms = (perf_counter_ns() - begin) / 1e6
            self.draft_prompt_ms += took_ms
            self._thinking_ms = 0.0
            if self._ways.settings.k == AUTO:
                self._controller.read(len(tokens), took_ms)
