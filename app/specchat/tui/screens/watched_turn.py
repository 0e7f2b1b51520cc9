"""An answer of a watched server in the transcript: its question, its text with every round, its figures."""

from __future__ import annotations

from specchat.models.labels import recorded_target
from specchat.stats.line import rule_in, with_ending
from specchat.stats.turn import TurnModel, TurnView
from specchat.tui.transcript.answer import TranscriptAnswer, View
from specchat.tui.transcript.entries import TranscriptEntry, UserMessage
from specchat.watching.followed import LiveAnswer

_LONGEST_QUESTION = 1200
"""Characters that are shown of a question. Programs ask long ones."""

_LOST = "its end was not reported"


class WatchedTurn:
    """The entries and the figures of one answer."""

    def __init__(self, answer: LiveAnswer, view: View) -> None:
        self._answer = answer
        self._shown = 0
        self._model = TurnModel()
        self._given = answer.trace().given
        self.entry = TranscriptAnswer(recorded_target(answer.start) or "answer", view, key=answer.number)
        self.entries: list[TranscriptEntry] = [
            *([UserMessage(_shortened(answer.question))] if answer.question else []),
            self.entry,
        ]
        if self._given:
            self.entry.begin_with(self._given)

    def figures(self) -> TurnView:
        """The figures of the rounds so far; exact at the end."""
        end = self._answer.end
        return self._model.final_view(self._answer.trace().stats) if end is not None else self._model.view()

    def update(self) -> None:
        """Shows the rounds that are new, and the end if it has come."""
        new = self._answer.rounds[self._shown :]
        self._shown += len(new)
        if new:
            self._model.observe(new)
            self.entry.append(new)
        if self._answer.over and self.entry.live:
            self.entry.finish(self._ended(), self._answer.trace().text)

    def _ended(self) -> str:
        """The line below the whole answer."""
        trace = self._answer.trace()
        if trace.error is not None:
            return f"the answer failed: {trace.error}"
        figures = self.figures()
        if self._answer.lost:
            return " · ".join(part for part in (_LOST, figures.line()) if part)
        drafted = figures.figures.num_draft_tokens
        rule = rule_in(trace.start) if drafted else ""
        return with_ending(trace.reason, figures.line(), rule)


def _shortened(question: str) -> str:
    more = len(question) - _LONGEST_QUESTION
    return question if more <= 0 else f"{question[:_LONGEST_QUESTION]}… and {more:,} more characters"
