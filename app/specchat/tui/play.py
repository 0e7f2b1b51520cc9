"""One turn while it runs: rounds go into its model and its answer; at its end stand the figures and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specchat.naming import model_name
from specchat.rules import rule_label
from specchat.terminal import clean
from specchat.tui.session import ChatSession
from specchat.tui.turn import TurnModel, TurnView
from specchat.tui.widgets.answer import Answer, View
from specchat.worker.protocol import Ended, WorkerFailed
from specchat_engine.rounds import Round
from specchat_engine.settings import LOSSY_VERIFIERS, Settings

_MARKS = {
    "cancelled": "stopped",
    "length": "max tokens",
    "context": "context full",
    "error": "the answer broke off",
}
_AGAIN = "The conversation is kept; the next message starts the engine again."


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended. `failure` is for the transcript; `unanswered` is a message that got no answer at all."""

    figures: TurnView
    failure: str | None = None
    unanswered: str | None = None


class Play:
    """A turn in flight. Its answer is a widget to be mounted; `view` gives the figures so far."""

    def __init__(self, session: ChatSession, view: View, settings: Settings) -> None:
        self._session = session
        self._model = TurnModel(session.plain_ms)
        self._text: list[str] = []
        self._verifiers = [settings.verifier]
        self.answer = Answer(model_name(session.loaded.target) if session.loaded else "answer", view)

    @property
    def num_tokens(self) -> int:
        """Tokens of the answer so far."""
        return self._model.stats.num_tokens

    def view(self) -> TurnView:
        """The figures so far."""
        return self._model.view()

    def turn(self, settings: Settings) -> None:
        """Settings from the next round on. A rule that may have judged a round stays in the line of figures."""
        if settings.verifier not in self._verifiers:
            self._verifiers.append(settings.verifier)

    async def take(self, rounds: Sequence[Round]) -> None:
        """Adds rounds, all that have come at once."""
        self._model.observe(rounds)
        self._text.extend(event.text for event in rounds)
        await self.answer.append(rounds)

    async def finish(self, last: Ended | WorkerFailed) -> Outcome:
        """Closes the answer and the session's turn."""
        ended = last if isinstance(last, Ended) else None
        figures = self._model.final_view(ended.stats if ended else None)
        mark = _MARKS.get(ended.reason, "") if ended else _MARKS["error"]
        rules = [rule_label(name, lossless=name not in LOSSY_VERIFIERS) for name in self._verifiers if figures.drafted]
        await self.answer.finish(
            " · ".join(part for part in (mark, figures.summary(), *rules) if part), ended.text if ended else None
        )
        unanswered = self._session.answered(ended.text if ended else "".join(self._text), self.num_tokens, ended)
        if isinstance(last, WorkerFailed):
            self._session.died = last.died
            failure = clean(last.message) + (f"\n{_AGAIN}" if last.died else "")
            return Outcome(figures, failure, unanswered)
        return Outcome(figures, None, unanswered)
