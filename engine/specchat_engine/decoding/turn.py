"""What belongs to one turn of a session: the question, the answer so far, its statistics, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from specchat_engine.answers.parser import AnswerParser
from specchat_engine.decoding.drafts import Context
from specchat_engine.decoding.generate import Plan
from specchat_engine.decoding.reasoning import ReasoningCounter
from specchat_engine.decoding.rounds import PromptReading, Round
from specchat_engine.decoding.stats import Repetition, TurnStats
from specchat_engine.decoding.transcript import AnswerDecoder
from specchat_engine.decoding.verification import Chance, Rows, Verdict, Verifier
from specchat_engine.errors import SettingError
from specchat_engine.grammar.constraint import Constraint
from specchat_engine.grammar.held import FREE
from specchat_engine.models import SessionVocabulary
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import AUTO, Settings


class CurrentPart:
    """Follows one answer in token ids.

    The rule is chosen for each round. A round that begins inside the thought ends with the token that closes it, so
    that no token of the answer is judged by the rule of the thought.
    """

    def __init__(self, parser: AnswerParser, piece: Callable[[int], bytes]) -> None:
        """`parser` is at the beginning of the answer. `piece` gives the bytes of a token, also of a control token that
        the parser looks for."""
        self._parser = parser
        self._piece = piece
        self._seen = 0
        self._relaxed: tuple[Settings, Settings] | None = None

    @property
    def is_thought(self) -> bool:
        """Whether the next token belongs to the thought. False until that is certain."""
        return self._parser.inside is True

    def follow(self, answer: Sequence[int]) -> None:
        """Reads what the answer has more than the last time."""
        for token in answer[self._seen :]:
            self._parser.feed(self._text(token))
        self._seen = len(answer)

    def settings(self, settings: Settings) -> Settings:
        """The settings of the next round: those of the answer, inside the thought with the rule of the thought.

        The same settings give the same object. A rule that cannot judge trees gets none.
        """
        if not self.is_thought:
            return settings
        if self._relaxed is None or self._relaxed[0] is not settings:
            self._relaxed = settings, replace(settings, verifier=settings.thought_verifier, tree=AUTO)
        return self._relaxed[1]

    def bounded(self, plan: Plan) -> Plan:
        """The plan of a round inside the thought, whose rule judges nothing after the token that closes it."""
        return replace(plan, verifier=_up_to(plan.verifier, self._length_in)) if plan.drafter else plan

    def _length_in(self, drafted: Sequence[int]) -> int:
        """How many of the drafted tokens belong to the thought, with the one that closes it."""
        parser = deepcopy(self._parser)
        for index, token in enumerate(drafted):
            parser.feed(self._text(token))
            if parser.inside is not True:
                return index + 1
        return len(drafted)

    def _text(self, token: int) -> str:
        """The text of a token by itself. All tags are whole characters, so that parts of characters do no harm."""
        return self._piece(token).decode("utf-8", "replace")


def _up_to(verifier: Verifier, length: Callable[[Sequence[int]], int]) -> Verifier:
    """The same rule for the first tokens of a draft alone. If they stand, the target's own token follows them."""

    def decide(drafted: Sequence[int], rows: Rows, proposals: Sequence[Candidates], chance: Chance) -> Verdict:
        judged = length(drafted)
        return verifier.decide(drafted[:judged], rows, proposals[:judged], chance)

    return replace(verifier, decide=decide)


if TYPE_CHECKING:
    from specchat_engine.prompt.images import ImageRun
    from specchat_engine.prompt.messages import Prompt


class CancelFlag:
    """A flag that any thread may set. Calling it says whether it is set."""

    __slots__ = ("asked",)

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked


class Turn:
    """One turn. Only its session writes to it; any thread may read it.

    `end_reason` is "error" until the answer ends otherwise. `reading` is there while the prompt is being read, and
    `context` is None until then; `cache_miss` says why much of it was read again. `in_force` holds the sampling
    parameters with the output position from which they were used. `held` is the grammar that the answer follows.
    `reasoning` counts that of the answer, and `part` says what is being written. `images` says where images stand in
    the prompt.
    """

    def __init__(
        self,
        number: int,
        seed: int,
        prompt: Prompt,
        prefix: Sequence[int],
        transcript: AnswerDecoder,
    ) -> None:
        """The answer begins with the ids of `prefix`. `transcript` is empty."""
        self.number = number
        self.seed = seed
        self.prompt = prompt
        self.prefix = tuple(prefix)
        self.transcript = transcript
        self.end_reason: str | None = "error"
        self.notices: list[str] = []
        self.cache_miss = ""
        self.prompt_ids: list[int] = []
        self.images: Sequence[ImageRun] = ()
        self.reading: PromptReading | None = None
        self.context: Context | None = None
        self.in_force: list[tuple[int, SamplingParams]] = []
        self.reasoning = ReasoningCounter()
        self.repetition = Repetition()
        self.part: CurrentPart | None = None
        self.held = FREE
        self.cancel = CancelFlag()
        self._stats = TurnStats()
        self._counting = Lock()

    @property
    def stats(self) -> TurnStats:
        """What the answer did so far, and where its time went: a copy that no later round changes."""
        with self._counting:
            return self._stats.copy()

    @property
    def text(self) -> str:
        """The answer so far."""
        return self.transcript.text

    @property
    def answer_ids(self) -> list[int]:
        """The token ids of the answer so far."""
        return self.context.tokens[self.context.prompt_length :] if self.context else []

    def with_shown(self, piece: Callable[[int], bytes]) -> Callable[[int], bytes]:
        """What gives the bytes of a token in the answer's text, given what gives those of other tokens."""
        shown = self.held.shown
        return (lambda token: shown.get(token) or piece(token)) if shown else piece

    def observe(self, event: Round) -> None:
        """Counts one round."""
        with self._counting:
            self._stats.observe(event)
            self.reasoning.observe(event)
            self._stats.reasoning = self.reasoning.stats
            self.repetition.observe(event)
            self._stats.repeats = self.repetition.period

    def note(self, **values: float | None) -> None:
        """Sets statistics that no round has: the prompt's length and times, and the cost of a plain pass."""
        with self._counting:
            self._stats = replace(self._stats, **values)  # type: ignore[arg-type]


def check_given(tokens: Sequence[int], vocabulary: SessionVocabulary, constraint: Constraint | None) -> None:
    """Checks the given tokens and moves the answer's constraint, which is at its beginning, past them.

    Raises SettingError for a token that the vocabulary does not have, that ends an answer, or that the grammar
    excludes.
    """
    passed: list[int] = []
    for position, token in enumerate(tokens):
        if token not in range(vocabulary.size):
            raise SettingError(
                f"the answer is to begin with token {token}: this vocabulary has 0 to {vocabulary.size - 1}"
            )
        if token in vocabulary.ends:
            raise SettingError(
                f"the answer is to begin with token {token} at position {position}, which ends an answer: "
                "stop before it"
            )
        if constraint and constraint.after(passed, (token,)) is None:
            raise SettingError(
                f"the answer is to begin with token {token} at position {position}, which its grammar excludes there: "
                "stop before it, or lift the grammar"
            )
        passed.append(token)
    if constraint:
        constraint.after(passed, ())


def check_room(tokens: Sequence[int], wanted: int, room: int) -> None:
    """Raises SettingError if an answer of at most `wanted` tokens, or the context's `room`, is too small for these."""
    count = len(tokens)
    if count > room:
        raise SettingError(
            f"the answer is to begin with {count} tokens, the context has room for {room}: give fewer or load with a "
            "larger -c"
        )
    if count > wanted:
        raise SettingError(
            f"the answer is to begin with {count} tokens, max tokens is {wanted}: allow more or give fewer"
        )
