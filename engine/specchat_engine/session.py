"""A conversation: messages in, rounds out."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from inspect import GEN_RUNNING, getgeneratorstate
from time import perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specchat_engine.analysis.inspect import InspectedPosition, inspect, sampling_at
from specchat_engine.analysis.inspection import Inspection
from specchat_engine.answers.held import closed_thought, held_to
from specchat_engine.answers.parser import AnswerParser
from specchat_engine.decoding.costs import MeasuredCosts, PassTimes
from specchat_engine.decoding.drafts import Context, Draft
from specchat_engine.decoding.generate import Plan, Watch, generate
from specchat_engine.decoding.logprobs import ScoredToken, score_prompt
from specchat_engine.decoding.reasoning import ReasoningCounter, closes_reasoning, opens_reasoning
from specchat_engine.decoding.recorder import Recorder
from specchat_engine.decoding.rounds import PromptProgress, PromptReading, Round
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.decoding.trace_lines import end_line, start_line
from specchat_engine.decoding.transcript import AnswerDecoder
from specchat_engine.decoding.turn import CurrentPart, Turn, check_given, check_room
from specchat_engine.decoding.verification import Verdict
from specchat_engine.errors import (
    Cancelled,
    ContextOverflowError,
    DecodeError,
    EngineError,
    SettingError,
    TemplateError,
)
from specchat_engine.grammar.constraint import Constraint
from specchat_engine.grammar.held import HeldGrammar
from specchat_engine.pair import Pair
from specchat_engine.policy.calibration import measure_plain
from specchat_engine.policy.planner import Planner
from specchat_engine.prompt.cache_miss import cache_miss
from specchat_engine.prompt.encoding import Encoded, Fitted, encode_text, encode_with_images, fit, shown_tokens
from specchat_engine.prompt.images import Image, with_images
from specchat_engine.prompt.messages import Asked, Message, Prompt
from specchat_engine.sampling.noise import turn_seed
from specchat_engine.sampling.sampler import Sampler, constraint_of
from specchat_engine.settings import AUTO, Settings


class Session:
    """One conversation with a target and, optionally, a draft model; made by `Engine.session`.

    `settings` may be replaced at any time, from any thread, and hold from the next round on; `max_tokens`, `stop` and
    the grammar hold from the next turn on. During and after a turn `stats`, `text`, `end_reason`, `turn_seed`,
    `prompt_ids`, `answer_ids`, `notices` and `costs` describe it. An EngineError leaves the session usable.

    It gives one answer at a time. A new answer ends one that is still open as if its reader had closed it: what was
    said until then stays in `messages`, and its iterator has no more rounds.

    `hold`, if there is one, is called before each round and may wait: the time it takes is not part of the turn.

    `watch`, if there is one, sees every pass of the target; see `generate.Watch`. `LogProbs` is one.

    With `measures_plain` an answer with drafts is followed by some plain passes, so that the speed-up is known. Without
    it C(1) is taken from other rounds.

    `prediction` is a text that the next answer will probably repeat, such as the file that it edits: prompt lookup
    drafts from it. It holds for one answer.
    """

    def __init__(
        self, pair: Pair, *, settings: Settings | None = None, seed: int | None = None, system: str | None = None
    ) -> None:
        """Without `seed` it chooses a random one."""
        self.pair = pair
        self.seed = secrets.randbits(32) if seed is None else seed
        self.settings = settings or Settings()
        self.messages: list[Message] = [Message("system", system)] if system else []
        self.hold: Callable[[], None] | None = None
        self.measures_plain = True
        self.prediction = ""
        self.watch: Watch | None = None
        self._planner = Planner(pair.target, pair.drafters(), pair.controller, pair.plain_because, pair.shared_pass)
        self._drafts = tuple(pair.drafts)
        self._turn = Turn(0, 0, Prompt(), (), self._empty_transcript())
        self._turn.end_reason = None
        self._open: Generator[Round] | None = None
        self._noted = AUTO
        self._dropping: int | None = None

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
    def prompt_progress(self) -> PromptProgress | None:
        """How far the reading of the prompt has come; None while no prompt is being read. Any thread may ask."""
        reading = self._turn.reading
        return reading.progress(self.pair.target.length) if reading else None

    @property
    def costs(self) -> MeasuredCosts:
        """What passes cost at the depth of the answer, as far as it was measured."""
        context = self._turn.context
        return self.pair.controller.measured_costs(context.middle) if context else MeasuredCosts()

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
    def cache_miss(self) -> str:
        """Why much of the prompt was read again, empty if it was not."""
        return self._turn.cache_miss

    @property
    def prompt_ids(self) -> list[int]:
        """The token ids of the prompt."""
        return self._turn.prompt_ids

    @property
    def given_ids(self) -> tuple[int, ...]:
        """The token ids that the answer was given to begin with."""
        return self._turn.prefix

    @property
    def held(self) -> HeldGrammar:
        """The grammar that the answer is held to, with the thought before what has to follow it."""
        return self._turn.held

    @property
    def opens_reasoning(self) -> bool:
        """Whether the prompt ended inside the reasoning: some templates write its opening tag."""
        return self._turn.reasoning.opened

    @property
    def answer_ids(self) -> list[int]:
        """The token ids of the answer so far."""
        return self._turn.answer_ids

    def generate(self, prompt: str, images: Sequence[Image] = ()) -> Iterator[Round]:
        """Answers one more message of the user. Keeps both in `messages`, also if the answer was cut short."""
        return self._alone(self._converse(Message("user", prompt, images=tuple(images))))

    def answer(self, asked: Asked, turn: int, attempt: int = 0, prefix: Sequence[int] | str = ()) -> Iterator[Round]:
        """Answers the messages of a whole transcript, or a prompt; what it shares with the last one is not read again.

        The answer begins with the text or the ids of `prefix`, which count for every limit and belong to no round. A
        text is kept to the letter, and the marks of reasoning in it are read as such. Raises
        ContextOverflowError, TemplateError, DecodeError, or SettingError for a prefix that no answer can begin with,
        and for a grammar or a biased token that the vocabulary cannot serve. A cancel is an `end_reason`, no error.
        """
        return self._alone(self._answer(asked, turn, attempt, prefix))

    def prepare(self, asked: Asked, cancelled: Callable[[], bool]) -> None:
        """Reads what will probably be asked while it is still being written; the next answer keeps what it shares.

        Only between two answers. Stops between two chunks if `cancelled` says so. Does nothing for a memory that cannot
        go back to what is really asked, or for what makes no prompt. Raises DecodeError, and EngineError while
        an answer is being given.
        """
        self._check_idle("read ahead")
        if self.pair.target.goes_back_freely:
            refused = suppress(Cancelled, ContextOverflowError, TemplateError, SettingError)
            with self.pair.lock, self.pair.answering(), refused:
                self._follow_drafts()
                fitted = self._fit(asked)
                self.pair.see(fitted.images)
                self.pair.target.read(fitted.tokens[:-1], cancelled)
                self._planner.prepare(fitted, self.settings, cancelled)

    def score(self, asked: Asked, likeliest: int = 0, cancelled: Callable[[], bool] = bool) -> list[ScoredToken]:
        """The log-probability of each token of a prompt, and the `likeliest` most probable ones at its position.

        Only between two answers. An answer to the same prompt does not read it again. Raises what `answer` raises for
        a prompt, Cancelled, DecodeError, and EngineError while an answer is being given.
        """
        self._check_idle("score a prompt")
        pair = self.pair
        with pair.lock, pair.answering():
            try:
                fitted = self._fit(asked)
                if fitted.images:
                    raise SettingError("a prompt with images cannot be scored: leave them out")
                return score_prompt(pair.target, fitted.tokens, likeliest, cancelled)
            except DecodeError:
                pair.clear()
                raise

    def inspect(
        self,
        position: int,
        asked: Sequence[int] = (),
        *,
        messages: Asked | None = None,
        tokens: Sequence[int] = (),
        sharpness: float = 1.0,
        cancelled: Callable[[], bool] = bool,
    ) -> Inspection:
        """What both models predict at one output position of the last answer, and for the `asked` ids there.

        With `messages` it is the answer in `tokens` to these, under the present settings. `sharpness` is that of the
        position's round. Only between two answers. A memory that cannot go back freely reads the text from its
        beginning. Raises SettingError for a position or ids that are not there, ContextOverflowError, TemplateError,
        DecodeError, Cancelled, and EngineError while an answer is being given.
        """
        self._check_idle("look closer")
        sampling, pair = self.settings.sampling, self.pair
        with pair.lock, pair.answering():
            if messages is None:
                sampling = sampling_at(position, self._turn.in_force) or sampling
                prompt, tokens = self.prompt_ids, self.answer_ids
                images, held = self._turn.images, self._turn.held
            else:
                fitted = self._fit(messages)
                prompt, images = fitted.tokens, fitted.images
                held = self._held(Prompt.of(messages), prompt)
            pair.see(images)
            inspected = InspectedPosition(prompt, tokens, position, sampling, sharpness, held)
            try:
                return inspect(pair.target, pair.peer, pair.vocabulary, inspected, asked, cancelled)
            except DecodeError:
                pair.clear()
                raise

    def num_dropped(self, asked: Asked) -> int:
        """How many of the oldest turns of a conversation the context has no room for.

        Raises ContextOverflowError if the last turn alone is too long, and TemplateError.
        """
        with self.pair.lock:
            return self._fit(asked).dropped

    def cancel(self) -> None:
        """Ends the running turn before its next round, or between two chunks of its prompt; from any thread."""
        self._turn.cancel.asked = True

    def start_line(self) -> dict[str, Any]:
        """The first line of this turn's trace."""
        turn = self._turn
        return start_line(
            self.pair.about(),
            self.settings,
            seed=self.seed,
            turn=turn.number,
            prompt_tokens=turn.stats.prompt_tokens,
            prompt=turn.prompt,
            prefix=turn.prefix,
            prefix_text="".join(turn.transcript.texts[: len(turn.prefix)]),
            opens_reasoning=self.opens_reasoning,
        )

    def end_line(self) -> dict[str, Any]:
        """The last line of this turn's trace."""
        return end_line(self.end_reason, self.text, self.stats.to_json(), self.costs)

    def _check_idle(self, what: str) -> None:
        if self.pair.target.user is not None:
            raise EngineError(f"an answer is being given on these models: {what} when it has ended")

    def _alone(self, rounds: Generator[Round]) -> Iterator[Round]:
        """These rounds, after ending an answer that is still open. Raises EngineError while a round of it is made."""
        if self._open and getgeneratorstate(self._open) == GEN_RUNNING:
            raise EngineError("a round of this session's answer is being made: cancel the answer before the next one")
        if self._open:
            self._open.close()
        self._open = rounds
        yield from rounds

    def _follow_drafts(self) -> None:
        """Drafts with the draft models that are loaded now."""
        if self._drafts != tuple(self.pair.drafts):
            self._planner.use(self.pair.drafters())
            self._drafts = tuple(self.pair.drafts)

    def _converse(self, question: Message) -> Generator[Round]:
        number = sum(message.role == "user" for message in self.messages)
        messages = [*self.messages, question]
        try:
            yield from self._answer(messages, number)
        finally:
            if self._turn.text:
                self.messages = [*messages, Message("assistant", self._turn.text)]

    def _answer(
        self, request: Asked, number: int, attempt: int = 0, prefix: Sequence[int] | str = ()
    ) -> Generator[Round]:
        """Begins a turn, reads the prompt, decodes, and leaves models and turn in order, however that ends."""
        seed = turn_seed(self.seed, number, attempt)
        pair, prompt = self.pair, self._thinking(Prompt.of(request))
        given = () if isinstance(prefix, str) else prefix
        self._turn = turn = Turn(number, seed, prompt, given, self._empty_transcript())
        self._note_thinking(turn)
        began = perf_counter_ns()
        on_passes = partial(pair.passed, turn.notices) if pair.passed else None
        with pair.lock, pair.answering():
            self._follow_drafts()
            times = PassTimes(pair.target, pair.drafting, on_passes, on_cpu=pair.on_cpu)
            fitted = self._fit(turn.prompt)
            turn.prompt_ids, turn.images = fitted.tokens, fitted.images
            opened = self._opens_reasoning(fitted.tokens)
            turn.reasoning = ReasoningCounter(pair.answer_format, opened=opened)
            turn.part = CurrentPart(AnswerParser(pair.answer_format, thinking=opened), self._with_marks())
            turn.held = self._held(turn.prompt, fitted.tokens)
            if isinstance(prefix, str):
                turn.prefix = tuple(encode_text(prefix, pair.vocabulary, pair.vocabulary.piece, turn.held.shown))
            constraint = constraint_of(self.settings.sampling, pair.vocabulary, turn.held)
            try:
                check_given(turn.prefix, pair.vocabulary, constraint)
                context = self._read_prompt(turn, fitted, constraint)
                if turn.end_reason == "error":
                    yield from self._decode(turn, context, times, began)
                if turn.stats.num_drafts and self.measures_plain:
                    spent_ms = turn.stats.decode_ms
                    measure_plain(
                        pair.target, context, times, pair.controller.target, spent_ms, partial(self._disturbed, turn)
                    )
                turn.note(plain_ms=self._plain_ms(context, times), cpu_share=times.cpu_share)
                turn.notices += map(str, pair.controller.drift.drops())
                turn.notices += filter(None, [closed_thought(turn.held, turn.answer_ids)])
            except Cancelled:
                turn.end_reason = "cancelled"
            except GeneratorExit:
                if turn.end_reason == "error":
                    turn.end_reason = "cancelled"
                raise
            except DecodeError:
                pair.clear()
                raise
            finally:
                if pair.target.user is turn.context:
                    pair.target.user = None
                self._planner.end(turn.context)

    def _plain_ms(self, context: Context, times: PassTimes) -> float | None:
        """What a plain pass took in the state in which the answer was decoded; else, if it is not measured for each
        answer, what plain passes usually take. None if others shared the passes."""
        if times.plain_ms is not None or self.measures_plain or self.pair.shared_pass().answers:
            return times.plain_ms
        target = self.pair.controller.target
        return target.at(1, context.middle) if target.seen(1) else None

    def _disturbed(self, turn: Turn) -> bool:
        """Whether plain passes after a turn would be in vain: it was cancelled, or others share them."""
        return turn.cancel() or self.pair.shared_pass().answers > 0

    def _held(self, prompt: Prompt, tokens: Sequence[int]) -> HeldGrammar:
        """What an answer to this prompt, which has these ids, is held to."""
        pair, piece = self.pair, self._with_marks()
        switch, opened = pair.template.thinking, self._opens_reasoning(tokens)
        thinks = switch.is_on(prompt.variables) if switch.exists else pair.answer_format.thinks
        thinks &= not closes_reasoning(pair.answer_format, tokens, piece)
        return held_to(prompt, self.settings, pair.answer_format, pair.vocabulary, piece, opened=opened, thinks=thinks)

    def _read_prompt(self, turn: Turn, fitted: Fitted, constraint: Constraint | None) -> Context:
        """Reads everything that is given except its last token into the models. Each is timed apart from decoding.

        `turn.end_reason` says so if the prefix itself ends the answer.
        """
        pair = self.pair
        settings, capacity = self.settings, pair.target.capacity
        ends = pair.vocabulary.ends.union(settings.stop_tokens)
        if self.prediction:
            predicted = pair.vocabulary.tokenize(self.prediction, special=False)
            fitted, self.prediction = replace(fitted, prediction=predicted), ""
        if fitted.dropped and self._dropping != self.seed:
            turn.notices.append(fitted.notice(capacity))
        self._dropping = self.seed if fitted.dropped else None
        length = len(fitted.tokens)
        turn.note(prompt_tokens=length)
        room = capacity - length
        check_room(turn.prefix, min(settings.max_tokens or room, room), room)
        turn.transcript = AnswerDecoder.of(settings, turn.with_shown(pair.vocabulary.piece), ends, room)
        ended = turn.transcript.receive(turn.prefix)[1]
        turn.reasoning.skip(turn.text)
        tokens = [*fitted.tokens, *turn.prefix]
        start = perf_counter_ns()
        pair.see(fitted.images)
        turn.reading = PromptReading(len(tokens), pair.target.threads if pair.on_cpu else 0)
        try:
            texts = pair.target.texts
            cached = pair.target.read(tokens[:-1], turn.cancel)
        finally:
            turn.reading = None
        given = with_images(tokens[:-1], fitted.images)
        turn.cache_miss = cache_miss(texts, given, cached, turn.with_shown(pair.vocabulary.piece))
        turn.note(prompt_ms=(perf_counter_ns() - start) / 1e6, cached_tokens=min(cached, length))
        self._planner.begin(tokens, fitted, settings, turn.cancel)
        turn.note(draft_prompt_ms=self._planner.draft_prompt_ms)
        if constraint:
            constraint.begin(len(tokens))
        turn.in_force = [(0, settings.sampling)]
        turn.context = context = Context(tokens, length, Sampler(settings.sampling, turn.seed, constraint), ends)
        pair.target.user = context
        turn.end_reason = ended or turn.end_reason
        return context

    def _decode(self, turn: Turn, context: Context, times: PassTimes, began: int) -> Iterator[Round]:
        """Runs the loop. Each round is recorded, counted and learned from before it goes out."""
        pair = self.pair
        piece = turn.with_shown(pair.vocabulary.piece)
        recorder = Recorder(pair.target, pair.drafting, piece, turn.transcript, began)
        plan = partial(self._plan, turn, recorder)
        for step in generate(pair.target, context, plan, turn.transcript.receive, self._watched):
            event = recorder.record(step)
            turn.observe(event)
            turn.end_reason = step.end or turn.end_reason
            disturbed = recorder.after_pause or pair.shared_pass().answers > 0
            times.observe(event, recorder.own_times, recorder.computed_ms, after_pause=disturbed)
            self._planner.learn(context, step, recorder.own_times)
            with recorder.away(), pair.released():
                yield event

    def _watched(self, context: Context, draft: Draft, verdict: Verdict, logits: NDArray[np.float32]) -> None:
        """Shows a pass to drafters that learn from it, and to whoever watches the session."""
        self._planner.watch(context, draft, verdict, logits)
        if self.watch:
            self.watch(context, draft, verdict, logits)

    def _plan(self, turn: Turn, recorder: Recorder, context: Context) -> Plan:
        """The next round under the present settings. Raises Cancelled if the turn is to stop."""
        recorder.after_pause = False
        if self.hold:
            with self.pair.released():
                recorder.hold(self.hold)
        if turn.cancel.asked:
            raise Cancelled("stopped")
        if self.pair.target.user is not context:
            raise EngineError("another answer began on these models before this one ended: finish or close one first")
        settings, sampler, planner = self.settings, context.sampler, self._planner
        if sampler.params is not settings.sampling:
            settings.sampling.check_tokens(self.pair.vocabulary.size)
            sampler = Sampler(settings.sampling, turn.seed, sampler.constraint)
            turn.in_force.append((context.position, settings.sampling))
        read_ms = planner.draft_prompt_ms
        plan = self._planned(turn, context, settings, sampler, after_pause=recorder.after_pause)
        if planner.draft_prompt_ms > read_ms:
            turn.note(draft_prompt_ms=planner.draft_prompt_ms)
            recorder.leave_out()
        return plan

    def _planned(
        self, turn: Turn, context: Context, settings: Settings, sampler: Sampler, *, after_pause: bool
    ) -> Plan:
        """What the planner plans for the part that is written now, inside the thought with the rule of the thought."""
        wanted, part = turn.transcript.remaining, turn.part
        if part is None or not settings.relaxes_thoughts:
            return self._planner.plan(context, settings, sampler, wanted, after_pause=after_pause)
        part.follow(context.tokens[context.prompt_length :])
        now = part.settings(settings)
        plan = self._planner.plan(context, now, sampler, wanted, after_pause=after_pause)
        return plan if now is settings else part.bounded(plan)

    def _thinking(self, prompt: Prompt) -> Prompt:
        """The prompt with the variables that the template takes for `Settings.thinking`; its own come before them."""
        level = self.settings.thinking
        if level == AUTO or prompt.raw is not None:
            return prompt
        return replace(prompt, variables={**self.pair.template.thinking.variables(level), **prompt.variables})

    def _note_thinking(self, turn: Turn) -> None:
        """Says once why a level does not do what it says."""
        level = self.settings.thinking
        if level != self._noted and turn.prompt.raw is None:
            self._noted = level
            turn.notices += filter(None, [self.pair.template.thinking.notice(level)])

    def _opens_reasoning(self, prompt: Sequence[int]) -> bool:
        return opens_reasoning(self.pair.answer_format, prompt, self._with_marks())

    def _with_marks(self) -> Callable[[int], bytes]:
        """Gives the bytes of a token, also of the control tokens around reasoning."""
        vocabulary = self.pair.vocabulary
        shown = shown_tokens(self.pair.answer_format.reasoning_marks, vocabulary)
        return lambda token: shown.get(token) or vocabulary.piece(token)

    def _fit(self, request: Asked) -> Fitted:
        prompt, pair = self._thinking(Prompt.of(request)), self.pair
        if pair.read_image is None and any(message.images for message in prompt.messages):
            raise SettingError(pair.no_images_because)

        def encoded(messages: Sequence[Message]) -> Encoded:
            return encode_with_images(
                replace(prompt, messages=messages), pair.template, pair.vocabulary, pair.read_image
            )

        whole = prompt.whole or self.settings.context_full == "stop"
        try:
            return fit(replace(prompt, whole=whole), encoded, pair.target.capacity)
        except ContextOverflowError as error:
            if prompt.whole or not whole:
                raise
            raise ContextOverflowError(f"{error}, or set context-full to drop or summarise") from None

    def _empty_transcript(self) -> AnswerDecoder:
        return AnswerDecoder(self.pair.vocabulary.piece, self.pair.vocabulary.ends, (), 0)
