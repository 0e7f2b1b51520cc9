"""A turn that is being answered: the rounds so far, and what they come to at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from specchat.chat.session import ChatSession, Question
from specchat.engine_process.protocol import Ended, TaskFailed
from specchat.stats.line import rule_in, with_ending
from specchat.stats.turn import TurnModel, TurnView
from specchat.store.records import StoredMessage
from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.trace_lines import end_line, settings_part
from specchat_engine.settings import Settings


class AnswerEntry(Protocol):
    """Where a front end shows an answer while it is written."""

    def begin_inside(self, closing: str) -> None:
        """Begins inside a thought that the prompt opened and that ends with this mark."""

    def begin_with(self, text: str) -> None:
        """Shows the text that the answer begins with and that no round brings."""

    def append(self, rounds: Sequence[Round]) -> None:
        """Adds rounds."""

    def recount(self, rounds: Sequence[Round]) -> None:
        """Replaces all rounds."""

    def finish(self, figures: str, text: str | None = None, *, calls: bool = False) -> None:
        """Ends the answer with its figures; `text` is what it says if that is not what the rounds brought."""


Entry = TypeVar("Entry", bound=AnswerEntry)


class TurnOutcome(NamedTuple):
    """How a turn ended. `unanswered` is a message that got no answer; `source` names the passage that was quoted.

    `gave_up` is True if the engine died so often that speculation is off now.
    """

    figures: TurnView
    unanswered: str | None
    source: str
    gave_up: bool


class RunningTurn(Generic[Entry]):
    """Takes the events of an answer; `answer` shows them."""

    def __init__(
        self, session: ChatSession, message: StoredMessage, question: Question, settings: Settings, answer: Entry
    ) -> None:
        """`message` is the answer in the conversation."""
        self.message, self.question, self.answer = message, question, answer
        self._given = question.prefix if isinstance(question.prefix, str) else ""
        self._session = session
        self._rules = [_rule(settings)]
        self._verifier = settings.verifier
        self._model = self._new_model()
        self._start: Mapping[str, Any] = {}
        self._rounds: list[Round] = []

    @property
    def num_tokens(self) -> int:
        """Tokens of the answer so far."""
        return self._model.num_tokens

    @property
    def repeats(self) -> int:
        """How many tokens the answer repeats over and over, 0 if it does not."""
        return self._model.repeats

    @property
    def text(self) -> str:
        """The answer so far, including the prefix that it was given."""
        begun = str(self._start.get("prefix_text", "")) if self._start else self._given
        return begun + "".join(event.text for event in self._rounds)

    def view(self) -> TurnView:
        """The figures so far."""
        return self._model.view()

    def turn(self, settings: Settings) -> None:
        """Notes settings that hold from the next round on: the line of figures names every rule that was used."""
        self._verifier = settings.verifier
        if _rule(settings) not in self._rules:
            self._rules.append(_rule(settings))

    def started(self, line: Mapping[str, Any]) -> None:
        """Takes the first line of the turn's trace: the engine has read the prompt."""
        self._session.started(line)
        self._start = line
        if line.get("opens_reasoning") and (loaded := self._session.loaded):
            self.answer.begin_inside(loaded.answer_format.thinking[1])
        if prefix := str(line.get("prefix_text", "")):
            self.answer.begin_with(prefix)

    def take(self, rounds: Sequence[Round]) -> None:
        """Adds rounds that arrived together."""
        self._model.observe(rounds)
        self._rounds.extend(rounds)
        self.answer.append(rounds)

    def recount(self, rounds: Sequence[Round]) -> None:
        """Takes all rounds again in place of those so far."""
        self._model = self._new_model()
        self._model.observe(rounds)
        self._rounds = [*rounds]
        self.answer.recount(rounds)

    def finish(self, last: Ended | TaskFailed) -> TurnOutcome:
        """Closes the answer and the session's turn."""
        ended = last if isinstance(last, Ended) else None
        view = self._model.final_view(ended.stats if ended else None)
        rules = self._rules if view.figures.num_draft_tokens else ()
        text = self.text if ended is None or (self._given and not ended.text) else ended.text
        source = self.question.quoted_in(text)
        line = with_ending(ended.reason if ended else "error", view.line(), *rules, source)
        if ended and ended.calls:
            self.answer.finish(line, ended.content, calls=True)
        else:
            self.answer.finish(line, text if ended or not self._start else None)
        unanswered = self._session.answered(self.message.id, text, self.num_tokens, ended, line)
        gave_up = isinstance(last, TaskFailed) and self._session.broke(last.died)
        return TurnOutcome(view, unanswered, source, gave_up)

    def trace(self, last: Ended | TaskFailed) -> Trace | None:
        """The trace of the answer; None if it never began."""
        if not self._start:
            return None
        rounds = tuple(self._rounds)
        if isinstance(last, TaskFailed):
            return Trace(self._start, rounds, None, last.message)
        return Trace(self._start, rounds, end_line(last.reason, last.text, last.stats, last.costs))

    def _new_model(self) -> TurnModel:
        loaded = self._session.loaded
        memory = loaded.memory if loaded else None
        return TurnModel(self._session.costs, memory, verifier=self._verifier)


def _rule(settings: Settings) -> str:
    return rule_in(settings_part(settings))
