"""One answer of the plain chat: asked of the engine, written as it comes, kept as the app keeps it."""

from __future__ import annotations

import time

from specchat.chat.archive import Archive
from specchat.chat.client import EngineClient
from specchat.chat.session import ChatSession
from specchat.chat.turn import TurnModel
from specchat.models.formatting import pair_name
from specchat.plain.paper import Paper
from specchat.plain.words import figures_told
from specchat.stats.endings import ending, with_ending
from specchat.store.records import StoredMessage
from specchat.terminal.interrupting import stops_on_interrupt
from specchat.traces.trace import Trace
from specchat.worker.protocol import Ended, Loaded, Notice, Started, WorkerFailed
from specchat_engine.decoding.rounds import Round
from specchat_engine.settings import Settings

_KEEPING_PAUSE = 1.0
_PLAIN_NOW = "That was the third time in a row: speculation is off now. /spec auto turns it on again."


class Answering:
    """Asks, writes, keeps. What was said stays, whatever ends an answer."""

    def __init__(self, client: EngineClient, archive: Archive, paper: Paper) -> None:
        self._client = client
        self._archive = archive
        self._paper = paper

    def answer(self, session: ChatSession, settings: Settings) -> Trace | None:
        """Answers what is said, and tells the figures in one line; None where no answer began."""
        message, question = session.begin()
        self._archive.said(session.conversation, message)
        model, rounds, started = TurnModel(session.plain_ms), list[Round](), dict[str, object]()
        last: Ended | WorkerFailed = WorkerFailed("the engine said nothing: try again")
        late: list[str] = []
        kept_at = time.monotonic()
        asked = self._client.generate(
            question.messages, turn=question.turn, attempt=question.attempt, seed=question.seed, settings=settings
        )
        self._paper.begin_answer()
        with stops_on_interrupt(self._client.cancel):
            for event in asked:
                if isinstance(event, Round):
                    model.observe([event])
                    rounds.append(event)
                    self._paper.stream(event.text)
                    if time.monotonic() - kept_at > _KEEPING_PAUSE:
                        kept_at = time.monotonic()
                        self._archive.grew(message, _text(rounds))
                elif isinstance(event, Started):
                    started = event.line
                    session.started(event.line)
                elif isinstance(event, Loaded):
                    session.ready(event)
                elif isinstance(event, Notice):
                    if rounds:
                        late.append(event.text)
                    else:
                        self._paper.say(event.text)
                elif isinstance(event, Ended | WorkerFailed):
                    last = event
        self._paper.end_answer()
        for text in late:
            self._paper.say(text)
        ended = last if isinstance(last, Ended) else None
        view = model.final_view(ended.stats if ended else None)
        text = ended.text if ended else _text(rounds)
        figures = with_ending(ended.reason if ended else "error", view.summary())
        self._end(session, message, text, view.num_tokens, last, figures)
        trace = _trace(started, rounds, last) if started else None
        self._keep(session, message, trace)
        if trace is not None and ended is not None and (ended.stats["num_tokens"] or ended.reason == "cancelled"):
            told = figures_told(trace.stats, trace.start)
            self._paper.say(f"[{', '.join(part for part in (ending(ended.reason), told) if part)}.]")
        return trace

    def _end(
        self,
        session: ChatSession,
        message: StoredMessage,
        text: str,
        num_tokens: int,
        last: Ended | WorkerFailed,
        figures: str,
    ) -> None:
        ended = last if isinstance(last, Ended) else None
        unanswered = session.answered(message.id, text, num_tokens, ended, figures)
        if isinstance(last, WorkerFailed):
            self._paper.say(last.message)
            if session.broke(last.died):
                self._paper.say(_PLAIN_NOW)
        if unanswered is not None:
            self._paper.say("Nothing was answered: the message is taken back.")

    def _keep(self, session: ChatSession, message: StoredMessage, trace: Trace | None) -> None:
        conversation, loaded = session.conversation, session.loaded
        if not conversation.holds(message.id):
            question = message.parent
            gone = [] if question is None or conversation.holds(question) else [question]
            self._archive.unsaid([message.id, *gone])
        elif trace is not None and loaded is not None:
            node = conversation.message(message.id)
            self._archive.answered(node, pair_name(loaded.target, loaded.draft), trace)


def _text(rounds: list[Round]) -> str:
    return "".join(event.text for event in rounds)


def _trace(start: dict[str, object], rounds: list[Round], last: Ended | WorkerFailed) -> Trace:
    if isinstance(last, WorkerFailed):
        return Trace(start, tuple(rounds), None, last.message)
    end = {"reason": last.reason, "text": last.text, "stats": last.stats, "costs": last.costs.to_json()}
    return Trace(start, tuple(rounds), {"type": "end", **end})
