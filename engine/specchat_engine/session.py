"""A conversation: messages in, rounds out."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Lock
from time import perf_counter_ns
from typing import Any

from specchat_engine.analysis.inspect import Place, inspect, sampling_at
from specchat_engine.analysis.inspection import Inspection
from specchat_engine.decoding.cancel import Cancel
from specchat_engine.decoding.costs import MeasuredCosts, PlainCost
from specchat_engine.decoding.drafts import Context
from specchat_engine.decoding.generate import Plan, generate
from specchat_engine.decoding.recorder import Recorder
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.decoding.trace_lines import end_line, start_line
from specchat_engine.decoding.transcript import Transcript
from specchat_engine.drafters import Translation, drafting_with
from specchat_engine.errors import Cancelled, ContextOverflowError, DecodeError, EngineError, TemplateError
from specchat_engine.grammar.constraint import Constraint
from specchat_engine.models import SessionModel, SessionVocabulary
from specchat_engine.policy.calibration import measure_plain
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.lookup_state import LookupState
from specchat_engine.policy.planner import PlannedDrafter, Planner
from specchat_engine.prompt.context_fit import Fitted, fit
from specchat_engine.prompt.encoding import encode
from specchat_engine.prompt.prefill import check_given, check_room
from specchat_engine.prompt.template import ChatTemplate, Message
from specchat_engine.sampling.noise import turn_seed
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.sampler import Sampler, constraint_of
from specchat_engine.settings import Settings
from specchat_engine.threads.cpu_contention import Passes

_TOLD_PASSES, _TOLD_MS = 32, 40.0
"""Passes are told together, at most this many, and fewer once they have taken this long."""


class Session:
    """One conversation with a target and, where there is one, a draft model; made by `Engine.session`.

    `settings` may be replaced at any time, from any thread, and the next round obeys; only `max_tokens`, `stop` and
    the grammar wait for the next turn. After a turn `stats`, `text`, `end_reason`, `turn_seed`, `prompt_ids`,
    `answer_ids` and `notices` tell about it. An EngineError leaves the session usable.

    `hold`, where there is one, is called before each round, and may wait: what it takes is no part of the turn.
    """

    def __init__(
        self,
        target: SessionModel,
        draft: SessionModel | None,
        vocabulary: SessionVocabulary,
        template: ChatTemplate,
        *,
        settings: Settings | None = None,
        seed: int | None = None,
        system: str | None = None,
        plain_cost: PlainCost | None = None,
        plain_because: str = "",
        controller: Controller | None = None,
        about: Callable[[], Mapping[str, Any]] = dict,
        translation: Translation | None = None,
        passed: Callable[[list[str], Passes], None] | None = None,
    ) -> None:
        """`plain_because` says why this target cannot speculate, empty if it can; `about()` goes into the start line.

        `controller` knows what this pair's passes cost and what is accepted; without one this session learns alone.
        `translation` is for a draft model with another vocabulary, which drafts through text. `passed` hears of the
        target's passes, and may add to the turn's notices.
        """
        self.seed = secrets.randbits(32) if seed is None else seed
        self.settings = settings or Settings()
        self.messages: list[Message] = [Message("system", system)] if system else []
        self.end_reason: str | None = None
        self.turn = 0
        self.turn_seed = 0
        self.notices: list[str] = []
        self.prompt_ids: list[int] = []
        self.hold: Callable[[], None] | None = None
        self._target = target
        self._draft = draft
        self._peer = None if translation else draft
        self._vocabulary = vocabulary
        self._template = template
        self._plain_cost = plain_cost or PlainCost()
        self._stats = TurnStats()
        self._counting = Lock()
        self._passes: list[tuple[int, float, float]] = []
        self._about = about
        self._passed = passed
        self._controller = controller or Controller()
        drafters: list[PlannedDrafter] = [LookupState()]
        if draft:
            drafters.insert(0, drafting_with(draft, translation))
        self._planner = Planner(target, drafters, self._controller, plain_because)
        self._transcript = Transcript(vocabulary.piece, vocabulary.ends, (), 0)
        self._asked: tuple[Message, ...] = ()
        self._prefix: tuple[int, ...] = ()
        self._context: Context | None = None
        self._in_force: list[tuple[int, SamplingParams]] = []
        self._cancel = Cancel()

    @property
    def stats(self) -> TurnStats:
        """What the answer did so far, and where its time went; a copy that no later round changes, from any thread."""
        with self._counting:
            return self._stats.copy()

    @property
    def costs(self) -> MeasuredCosts:
        """What passes cost at the depth of the answer, as far as it was measured."""
        return self._controller.measured_costs(self._context.middle) if self._context else MeasuredCosts()

    @property
    def text(self) -> str:
        """The answer so far."""
        return self._transcript.text

    @property
    def answer_ids(self) -> list[int]:
        """The token ids of the answer so far."""
        return self._context.tokens[self._context.prompt_length :] if self._context else []

    def generate(self, prompt: str) -> Iterator[Round]:
        """Answers one more message of the user and keeps both in `messages`, also where the answer was cut short."""
        turn = sum(message.role == "user" for message in self.messages)
        asked = [*self.messages, Message("user", prompt)]
        try:
            yield from self.answer(asked, turn)
        finally:
            if self.text:
                self.messages = [*asked, Message("assistant", self.text)]

    def answer(
        self, messages: Sequence[Message], turn: int, attempt: int = 0, prefix: Sequence[int] = ()
    ) -> Iterator[Round]:
        """Answers a whole transcript; what it shares with the last one is not read again.

        The answer begins with the ids of `prefix`, which count for every limit and belong to no round. Raises
        ContextOverflowError, TemplateError, DecodeError, or SettingError for a prefix that no answer can begin with,
        a grammar or a biased token that the vocabulary cannot serve. A cancel is an `end_reason`, not an error.
        """
        began = perf_counter_ns()
        self._cancel.asked = False
        self._asked = tuple(messages)
        self.turn, self.turn_seed = turn, turn_seed(self.seed, turn, attempt)
        self.end_reason, self.notices = "error", []
        self._stats, self._passes = TurnStats(), []
        self._transcript = Transcript(self._vocabulary.piece, self._vocabulary.ends, (), 0)
        self._prefix, self._context = tuple(prefix), None
        constraint = constraint_of(self.settings.sampling, self._vocabulary)
        try:
            check_given(self._prefix, self._vocabulary, constraint)
            context = self._begin(messages, constraint)
            if self.end_reason == "error":
                yield from self._decode(context, began)
            if not self._planner.plain_because:
                measure_plain(self._target, context, self._plain_cost, self._controller.target, self._cancel)
            self._stats.plain_ms = self._plain_cost.at(context.middle)
        except Cancelled:
            self.end_reason = "cancelled"
        except GeneratorExit:
            if self.end_reason == "error":
                self.end_reason = "cancelled"
            raise
        except DecodeError:
            self._clear()
            raise
        finally:
            if self._target.user is self._context:
                self._target.user = None
            self._planner.end(self._context)
            if constraint:
                constraint.close()

    def prepare(self, messages: Sequence[Message], cancelled: Callable[[], bool]) -> None:
        """Reads what will probably be asked, while it is still being written; the next answer keeps what it shares.

        Between two answers only. It stops between two chunks where `cancelled` says so, and does nothing for a memory
        that could not go back to what was really asked, or for messages that no prompt can be made of.
        """
        if self._target.goes_back_freely:
            with suppress(Cancelled, ContextOverflowError, TemplateError):
                fitted = self._fit(messages)
                self._target.read(fitted.tokens[:-1], cancelled)
                self._planner.prepare(fitted, self.settings, cancelled)

    def inspect(
        self,
        position: int,
        asked: Sequence[int] = (),
        *,
        messages: Sequence[Message] | None = None,
        tokens: Sequence[int] = (),
        cancelled: Callable[[], bool] = bool,
    ) -> Inspection:
        """What both models make of one output position of the last answer, and of the `asked` ids there.

        With `messages` it is the answer in `tokens` to these, under the settings of now. Between two answers only.
        Where a memory cannot go back freely it is read from its beginning. Raises SettingError for what does not fit,
        ContextOverflowError, TemplateError, DecodeError, Cancelled, and EngineError while an answer is being given.
        """
        if self._target.user is not None:
            raise EngineError("an answer is being given on these models: look closer when it has ended")
        sampling = self.settings.sampling
        if messages is None:
            sampling = sampling_at(position, self._in_force) or sampling
            place = Place(self.prompt_ids, self.answer_ids, position, sampling)
        else:
            place = Place(self._fit(messages).tokens, tokens, position, sampling)
        try:
            return inspect(self._target, self._peer, self._vocabulary, place, asked, cancelled)
        except DecodeError:
            self._clear()
            raise

    def cancel(self) -> None:
        """Ends the running turn before its next round, or between two chunks of its prompt; from any thread."""
        self._cancel.asked = True

    def start_line(self) -> dict[str, Any]:
        """The first line of this turn's trace; it tells the prefix where there is one."""
        return start_line(
            self._about(),
            self.settings,
            seed=self.seed,
            turn=self.turn,
            prompt_tokens=self.stats.prompt_tokens,
            messages=self._asked,
            prefix=self._prefix,
            prefix_text="".join(self._transcript.texts[: len(self._prefix)]),
        )

    def end_line(self) -> dict[str, Any]:
        """The last line of this turn's trace."""
        return end_line(self.end_reason, self.text, self.stats.to_json(), self.costs)

    def _begin(self, messages: Sequence[Message], constraint: Constraint | None) -> Context:
        """Reads all that is given but its last token into the models, each timed apart from decoding.

        Where the prefix itself ends the answer, `end_reason` says so.
        """
        stats, settings, capacity = self._stats, self.settings, self._target.capacity
        fitted = self._fit(messages)
        if fitted.dropped:
            self.notices.append(fitted.notice(capacity))
        self.prompt_ids = fitted.tokens
        stats.prompt_tokens = length = len(fitted.tokens)
        room = capacity - length
        check_room(self._prefix, min(settings.max_tokens or room, room), room)
        self._transcript = Transcript.of(settings, self._vocabulary.piece, self._vocabulary.ends, room)
        ended = self._transcript.receive(self._prefix)[1]
        tokens = [*fitted.tokens, *self._prefix]
        start = perf_counter_ns()
        self._target.read(tokens[:-1], self._cancel)
        stats.prompt_ms = (perf_counter_ns() - start) / 1e6
        self._planner.begin(tokens, fitted, settings, self._cancel)
        stats.draft_prompt_ms = self._planner.draft_prompt_ms
        if constraint:
            constraint.begin(len(tokens))
        sampler = Sampler(settings.sampling, self.turn_seed, constraint)
        self._in_force = [(0, settings.sampling)]
        self._context = context = Context(tokens, length, sampler, self._vocabulary.ends)
        self._target.user = context
        self.end_reason = ended or self.end_reason
        return context

    def _fit(self, messages: Sequence[Message]) -> Fitted:
        return fit(messages, lambda kept: encode(kept, self._template, self._vocabulary), self._target.capacity)

    def _decode(self, context: Context, began: int) -> Iterator[Round]:
        """Runs the loop. Each round is recorded, counted and learned from before it goes out."""
        recorder = Recorder(self._target, self._draft, self._vocabulary.piece, self._transcript, began)
        after_plain = False
        for step in generate(self._target, context, partial(self._plan, recorder), self._transcript.receive):
            event = recorder.record(step)
            with self._counting:
                self._stats.observe(event)
            if step.end:
                self.end_reason = step.end
            plain = not event.drafted and not recorder.rested
            if plain and after_plain:  # a pass right after a draft takes longer than plain decoding does
                self._plain_cost.observe(len(context.tokens), event.ms.verify)
            after_plain = plain
            if not recorder.rested:
                self._tell_passes((1 + len(event.drafted), event.ms.verify, event.ms.draft))
            self._planner.learn(context, step, recorder.own_times, rested=recorder.rested)
            with recorder.away():
                yield event

    def _tell_passes(self, latest: tuple[int, float, float]) -> None:
        """Passes on what the target's passes took, several short ones together."""
        self._passes.append(latest)
        passes = self._passes
        if len(passes) == _TOLD_PASSES or sum(verify + draft for _, verify, draft in passes) > _TOLD_MS:
            self._passes = []
            if self._passed:
                self._passed(self.notices, passes)

    def _plan(self, recorder: Recorder, context: Context) -> Plan:
        """The next round, as the settings are now. Raises Cancelled where the turn is to stop."""
        if self.hold:
            recorder.hold(self.hold)
        elif recorder.rested:
            recorder.rested = False
        if self._cancel.asked:
            raise Cancelled("stopped")
        if self._target.user is not context:
            raise EngineError("another answer began on these models before this one ended: finish or close one first")
        settings, sampler, planner = self.settings, context.sampler, self._planner
        if sampler.params is not settings.sampling:
            settings.sampling.check_tokens(self._vocabulary.size)
            sampler = Sampler(settings.sampling, self.turn_seed, sampler.constraint)
            self._in_force.append((context.position, settings.sampling))
        read_ms = planner.draft_prompt_ms
        made = planner.plan(context, settings, sampler, self._transcript.remaining, rested=recorder.rested)
        if planner.draft_prompt_ms > read_ms:
            self._stats.draft_prompt_ms = planner.draft_prompt_ms
            recorder.leave_out()
        return made

    def _clear(self) -> None:
        for model in filter(None, (self._target, self._draft)):
            model.clear()
