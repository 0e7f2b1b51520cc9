"""The state of the chat, shared by all parts of the screen, and the turn that is running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from specchat.chat.controller import ChatController
from specchat.chat.outbox import Outbox, QueuedMessage
from specchat.chat.session import ChatSession, Question
from specchat.engine_process.protocol import Ended, TaskFailed
from specchat.stats.line import repeating_words, rule_in, with_ending
from specchat.stats.turn import TurnModel, TurnView
from specchat.store.records import StoredMessage
from specchat.terminal.filter import clean
from specchat.tools.consent import Consent
from specchat.traces.trace import Trace
from specchat.tui.transcript.answer import Answer, View
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.trace_lines import end_line, settings_part
from specchat_engine.settings import Settings

_PLAIN_NOW = "That was the third time in a row: speculation is off now (k 0). F2 or /spec auto turns it on again."
_STOPS = "Esc stops it"
_AGAIN = "The conversation is kept; the next message starts the engine again."


class Outcome(NamedTuple):
    """How a turn ended. `failure` is a text for the transcript; `unanswered` is a message that got no answer."""

    figures: TurnView
    failure: str | None = None
    unanswered: str | None = None


class RunningTurn:
    """A turn that is being answered. `answer` is its entry of the transcript, `view` returns the figures so far."""

    def __init__(
        self,
        session: ChatSession,
        message: StoredMessage,
        view: View,
        settings: Settings,
        question: Question,
    ) -> None:
        """`message` is the answer in the conversation."""
        self.message, self._question = message, question
        self._given = question.prefix if isinstance(question.prefix, str) else ""
        self._session = session
        self._rules = [_rule(settings)]
        self._verifier = settings.verifier
        self._model = self._new_model()
        self._start: Mapping[str, Any] = {}
        self._rounds: list[Round] = []
        self._text: list[str] = []
        self.answer = Answer(session.answerer, view, key=message.id)

    @property
    def num_tokens(self) -> int:
        """Tokens of the answer so far."""
        return self._model.num_tokens

    @property
    def text(self) -> str:
        """The answer so far, including the prefix that it was given."""
        begun = str(self._start.get("prefix_text", "")) if self._start else self._given
        return begun + "".join(self._text)

    def view(self) -> TurnView:
        """The figures so far."""
        return self._model.view()

    def turn(self, settings: Settings) -> None:
        """Notes settings that hold from the next round on: the line of figures names every rule that was used."""
        self._verifier = settings.verifier
        if _rule(settings) not in self._rules:
            self._rules.append(_rule(settings))

    def started(self, line: Mapping[str, Any]) -> None:
        """Takes the first line of the turn's trace."""
        self._start = line
        if line.get("opens_reasoning") and (loaded := self._session.loaded):
            self.answer.begin_inside(loaded.answer_format.thinking[1])
        if prefix := str(line.get("prefix_text", "")):
            self.answer.begin_with(prefix)

    def trace(self, last: Ended | TaskFailed) -> Trace | None:
        """The trace of the answer; None if it never began."""
        if not self._start:
            return None
        rounds = tuple(self._rounds)
        if isinstance(last, TaskFailed):
            return Trace(self._start, rounds, None, last.message)
        return Trace(self._start, rounds, end_line(last.reason, last.text, last.stats, last.costs))

    def take(self, rounds: Sequence[Round]) -> None:
        """Adds rounds that arrived together."""
        self._model.observe(rounds)
        self._rounds.extend(rounds)
        self._text.extend(event.text for event in rounds)
        self.answer.append(rounds)
        if words := repeating_words(self._model.repeats):
            self.answer.show_below(f"the answer {words}: {_STOPS}")

    def recount(self, rounds: Sequence[Round]) -> None:
        """Takes all rounds again in place of those so far."""
        self._model = self._new_model()
        self._model.observe(rounds)
        self._rounds, self._text = [*rounds], [event.text for event in rounds]
        self.answer.recount(rounds)

    def finish(self, last: Ended | TaskFailed) -> Outcome:
        """Closes the answer and the session's turn."""
        ended = last if isinstance(last, Ended) else None
        view = self._model.final_view(ended.stats if ended else None)
        rules = self._rules if view.figures.num_draft_tokens else ()
        text = self.text if ended is None or (self._given and not ended.text) else ended.text
        source = self._question.quoted_in(text)
        line = with_ending(ended.reason if ended else "error", view.line(), *rules, source)
        if ended and ended.calls:
            self.answer.finish(line, ended.content, calls=True)
        else:
            self.answer.finish(line, text if ended or not self._start else None)
        unanswered = self._session.answered(self.message.id, text, self.num_tokens, ended, line)
        if isinstance(last, TaskFailed):
            gave_up = self._session.broke(last.died)
            failure = "\n".join(
                [clean(last.message), *([_AGAIN] if last.died else []), *([_PLAIN_NOW] if gave_up else [])]
            )
            return Outcome(view, failure, unanswered)
        return Outcome(view, None, unanswered)

    def _new_model(self) -> TurnModel:
        loaded = self._session.loaded
        memory = loaded.memory if loaded else None
        return TurnModel(self._session.costs, memory, verifier=self._verifier)


def _rule(settings: Settings) -> str:
    return rule_in(settings_part(settings))


@dataclass(slots=True)
class ChatState(ChatController):
    """The conversation, the answer that is being written, and what waits to be sent.

    `waiting` is an empty answer that begins when the models are loaded. `editing` is the id of the message that the
    next one replaces. `live_view` is how answers are shown while they stream. `frozen` is true in step mode.
    """

    turn: RunningTurn | None = None
    waiting: StoredMessage | None = None
    editing: int | None = None
    live_view: View = View.TRACE
    frozen: bool = False
    calling: bool = False
    """Whether the calls of the last answer are made."""
    commands_allowed: bool = False
    """Whether shell commands run in this conversation without asking again."""
    consent: Consent = field(default_factory=Consent)
    """The tools that are called in this conversation without asking again."""
    named_files: tuple[Path, ...] = ()
    """The files that a tool may read in this conversation."""
    num_tools: int = 0
    """The number of tools that are on."""
    docs_offer: tuple[int, str] | None = None
    """The id of an answer in which the guide said that it does not know, and the words to search the docs for."""
    sent: QueuedMessage | None = None
    """The message that was sent last, as it was typed."""
    outbox: Outbox = field(default_factory=Outbox)
    """What is sent after the answer that is being written."""

    @property
    def busy(self) -> bool:
        """Whether the last message is being answered, waits for the models, or waits for calls of tools."""
        return self.turn is not None or self.waiting is not None or self.calling

    @property
    def docs_search(self) -> str:
        """The words that F1 searches the docs for; empty unless the last answer offered that."""
        last = self.last_answer
        return self.docs_offer[1] if self.docs_offer and last and last.id == self.docs_offer[0] else ""

    def take_back(self) -> str | None:
        """Removes the message that waits for the models from the conversation, and returns its text."""
        waiting, self.waiting = self.waiting, None
        if waiting is None or waiting.parent is None:
            return None
        conversation = self.session.conversation
        question = conversation.message(waiting.parent)
        for message in (waiting.id, question.id):
            conversation.drop(message)
            self.archive.unsaid([message])
        self.archive.changed(conversation.session)
        return question.content

    def is_running(self, answer: int) -> bool:
        """Whether the answer with this id is still being written."""
        return self.turn is not None and self.turn.message.id == answer
