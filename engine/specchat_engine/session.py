"""A conversation: messages in, rounds out."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter_ns
from typing import Any

from specchat_engine.analysis.inspect import Place, inspect, sampling_at
from specchat_engine.analysis.inspection import Inspection
from specchat_engine.decoding.costs import MeasuredCosts, PassTimes, PlainCost
from specchat_engine.decoding.drafts import Context
from specchat_engine.decoding.generate import Plan, generate
from specchat_engine.decoding.prefix import check_given, check_room
from specchat_engine.decoding.recorder import Recorder
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.decoding.trace_lines import end_line, start_line
from specchat_engine.decoding.transcript import Transcript
from specchat_engine.decoding.turn import Turn
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
from specchat_engine.prompt.template import ChatTemplate, Message
from specchat_engine.sampling.noise import turn_seed
from specchat_engine.sampling.sampler import Sampler, constraint_of
from specchat_engine.settings import Settings
from specchat_engine.threads.cpu_contention import Passes


class Session:
    """One conversation with a target and, optionally, a draft model; made by `Engine.session`.

    `settings` may be replaced at any time, from any thread, and hold from the next round on; `max_tokens`, `stop` and
    the grammar hold from the next turn on. During and after a turn `stats`, `text`, `end_reason`, `turn_seed`,
    `prompt_ids`, `answer_ids`, `notices` and `costs` describe it. An EngineError leaves the session usable.

    `hold`, if there is one, is called before each round and may wait: the time it takes is no part of the turn.
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

        `controller` knows what this pair's passes cost and what is accepted; without one the session starts from
        nothing. `translation` is for a draft model with another vocabulary, which drafts through text. `passed` gets
        the times of the target's passes, and may add to the turn's notices.
        """
        self.seed = secrets.randbits(32) if seed is None else seed
        self.settings = settings or Settings()
        self.messages: list[Message] = [Message("system", system)] if system else []
        self.hold: Callable[[], None] | None = None
        self._target = target
        self._draft = draft
        self._peer = None if translation else draft
        self._vocabulary = vocabulary
        self._template = template
        self._plain_cost = plain_cost or PlainCost()
        self._about = about
        self._passed = passed
        self._controller = controller or Controller()
        drafters: list[PlannedDrafter] = [LookupState()]
        if draft:
            drafters.insert(0, drafting_with(draft, translation))
        self._planner = Planner(target, drafters, self._controller, plain_because)
        self._turn = Turn(0, 0, (), (), self._empty_transcript())
        self._turn.end_reason = None

    @property
    def turn(self) -> int:
        """The number of the turn, from 0."""
        return self._turn.number

    @property
    def turn_seed(self) -> int:
        """The seed of the turn's noise."""
        return self._turn.seed

    @property
    def stats(self) -> TurnStats:
        """What the answer did so far, and where its time went: a copy that no later round changes."""
        return self._turn.stats

    @property
    def costs(self) -> MeasuredCosts:
        """What passes cost at the depth of the answer, as far as it was measured."""
        context = self._turn.context
        return self._controller.measured_costs(context.middle) if context else MeasuredCosts()

    @property
    def text(self) -> str:
        """The answer so far."""
        return self._turn.text

    @property
    def end_reason(self) -> str | None:
        """Why the answer ended: "end", "stop", "length", "context", "cancelled" or "error"; None before any turn."""
        return self._turn.end_reason

    @property
    def notices(self) -> list[str]:
        """What the user should know about the turn."""
        return self._turn.notices

    @property
    def prompt_ids(self) -> list[int]:
        """The token ids of the prompt."""
        return self._turn.prompt_ids

    @property
    def answer_ids(self) -> list[int]:
        """The token ids of the answer so far."""
        return self._turn.answer_ids

    def generate(self, prompt: str) -> Iterator[Round]:
        """Answers one more message of the user. Keeps both in `messages`, also if the answer was cut short."""
        number = sum(message.role == "user" for message in self.messages)
        asked = [*self.messages, Message("user", prompt)]
        turn = self._begin_turn(asked, number)
        try:
            yield from self._answer(turn)
        finally:
            if turn is self._turn and turn.text:
                self.messages = [*asked, Message("assistant", turn.text)]

    def answer(
        self, messages: Sequence[Message], turn: int, attempt: int = 0, prefix: Sequence[int] = ()
    ) -> Iterator[Round]:
        """Answers a whole transcript; what it shares with the last one is not read again.

        The answer begins with the ids of `prefix`, which count for every limit and belong to no round. Raises
        ContextOverflowError, TemplateError, DecodeError, or SettingError for a prefix that no answer can begin with,
        and for a grammar or a biased token that the vocabulary cannot serve. A cancel is an `end_reason`, no error.
        """
        yield from self._answer(self._begin_turn(messages, turn, attempt, prefix))

    def prepare(self, messages: Sequence[Message], cancelled: Callable[[], bool]) -> None:
        """Reads what will probably be asked while it is still being written; the next answer keeps what it shares.

        Only between two answers. Stops between two chunks if `cancelled` says so. Does nothing for a memory that cannot
        go back to what is really asked, or for messages that make no prompt.
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
        """What both models predict at one output position of the last answer, and for the `asked` ids there.

        With `messages` it is the answer in `tokens` to these, under the present settings. Only between two answers. A
        memory that cannot go back freely reads the text from its beginning. Raises SettingError for a position or ids
        that are not there, ContextOverflowError, TemplateError, DecodeError, Cancelled, and EngineError while an answer
        is being given.
        """
        if self._target.user is not None:
            raise EngineError("an answer is being given on these models: look closer when it has ended")
        sampling = self.settings.sampling
        if messages is None:
            sampling = sampling_at(position, self._turn.in_force) or sampling
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
        self._turn.cancel.asked = True

    def start_line(self) -> dict[str, Any]:
        """The first line of this turn's trace."""
        turn = self._turn
        return start_line(
            self._about(),
            self.settings,
            seed=self.seed,
            turn=turn.number,
            prompt_tokens=turn.stats.prompt_tokens,
            messages=turn.messages,
            prefix=turn.prefix,
            prefix_text="".join(turn.transcript.texts[: len(turn.prefix)]),
        )

    def end_line(self) -> dict[str, Any]:
        """The last line of this turn's trace."""
        return end_line(self.end_reason, self.text, self.stats.to_json(), self.costs)

    def _begin_turn(
        self, messages: Sequence[Message], number: int, attempt: int = 0, prefix: Sequence[int] = ()
    ) -> Turn:
        seed = turn_seed(self.seed, number, attempt)
        self._turn = Turn(number, seed, messages, prefix, self._empty_transcript())
        return self._turn

    def _answer(self, turn: Turn) -> Iterator[Round]:
        """Reads the prompt, decodes, and leaves models and turn in order, however that ends."""
        began = perf_counter_ns()
        constraint = constraint_of(self.settings.sampling, self._vocabulary)
        try:
            check_given(turn.prefix, self._vocabulary, constraint)
            context = self._read_prompt(turn, constraint)
            if turn.end_reason == "error":
                yield from self._decode(turn, context, began)
            if not self._planner.plain_because:
                measure_plain(self._target, context, self._plain_cost, self._controller.target, turn.cancel)
            turn.note(plain_ms=self._plain_cost.at(context.middle))
        except Cancelled:
            turn.end_reason = "cancelled"
        except GeneratorExit:
            if turn.end_reason == "error":
                turn.end_reason = "cancelled"
            raise
        except DecodeError:
            self._clear()
            raise
        finally:
            if self._target.user is turn.context:
                self._target.user = None
            if turn is self._turn:
                self._planner.end(turn.context)
            if constraint:
                constraint.close()

    def _read_prompt(self, turn: Turn, constraint: Constraint | None) -> Context:
        """Reads everything that is given except its last token into the models. Each is timed apart from decoding.

        `turn.end_reason` says so if the prefix itself ends the answer.
        """
        settings, capacity, ends = self.settings, self._target.capacity, self._vocabulary.ends
        fitted = self._fit(turn.messages)
        if fitted.dropped:
            turn.notices.append(fitted.notice(capacity))
        turn.prompt_ids = fitted.tokens
        length = len(fitted.tokens)
        turn.note(prompt_tokens=length)
        room = capacity - length
        check_room(turn.prefix, min(settings.max_tokens or room, room), room)
        turn.transcript = Transcript.of(settings, self._vocabulary.piece, ends, room)
        ended = turn.transcript.receive(turn.prefix)[1]
        tokens = [*fitted.tokens, *turn.prefix]
        start = perf_counter_ns()
        self._target.read(tokens[:-1], turn.cancel)
        turn.note(prompt_ms=(perf_counter_ns() - start) / 1e6)
        self._planner.begin(tokens, fitted, settings, turn.cancel)
        turn.note(draft_prompt_ms=self._planner.draft_prompt_ms)
        if constraint:
            constraint.begin(len(tokens))
        turn.in_force = [(0, settings.sampling)]
        turn.context = context = Context(tokens, length, Sampler(settings.sampling, turn.seed, constraint), ends)
        self._target.user = context
        turn.end_reason = ended or turn.end_reason
        return context

    def _decode(self, turn: Turn, context: Context, began: int) -> Iterator[Round]:
        """Runs the loop. Each round is recorded, counted and learned from before it goes out."""
        recorder = Recorder(self._target, self._draft, self._vocabulary.piece, turn.transcript, began)
        tell = partial(self._passed, turn.notices) if self._passed else None
        times = PassTimes(self._plain_cost, tell)
        plan = partial(self._plan, turn, recorder)
        for step in generate(self._target, context, plan, turn.transcript.receive):
            event = recorder.record(step)
            turn.observe(event)
            turn.end_reason = step.end or turn.end_reason
            times.observe(event, len(context.tokens), after_pause=recorder.after_pause)
            self._planner.learn(context, step, recorder.own_times)
            with recorder.away():
                yield event

    def _plan(self, turn: Turn, recorder: Recorder, context: Context) -> Plan:
        """The next round under the present settings. Raises Cancelled if the turn is to stop."""
        recorder.after_pause = False
        if self.hold:
            recorder.hold(self.hold)
        if turn.cancel.asked:
            raise Cancelled("stopped")
        if self._target.user is not context:
            raise EngineError("another answer began on these models before this one ended: finish or close one first")
        settings, sampler, planner = self.settings, context.sampler, self._planner
        if sampler.params is not settings.sampling:
            settings.sampling.check_tokens(self._vocabulary.size)
            sampler = Sampler(settings.sampling, turn.seed, sampler.constraint)
            turn.in_force.append((context.position, settings.sampling))
        read_ms = planner.draft_prompt_ms
        plan = planner.plan(context, settings, sampler, turn.transcript.remaining, after_pause=recorder.after_pause)
        if planner.draft_prompt_ms > read_ms:
            turn.note(draft_prompt_ms=planner.draft_prompt_ms)
            recorder.leave_out()
        return plan

    def _fit(self, messages: Sequence[Message]) -> Fitted:
        return fit(messages, lambda kept: encode(kept, self._template, self._vocabulary), self._target.capacity)

    def _empty_transcript(self) -> Transcript:
        return Transcript(self._vocabulary.piece, self._vocabulary.ends, (), 0)

    def _clear(self) -> None:
        for model in filter(None, (self._target, self._draft)):
            model.clear()
