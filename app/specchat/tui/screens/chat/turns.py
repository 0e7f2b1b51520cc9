"""Turns: a message goes to the engine, and the answer comes back to the transcript and the archive.

What replaces an earlier message or answer becomes a branch beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from textual.widget import Widget

from specchat.chat.session import Phase
from specchat.chat.turn import RunningTurn
from specchat.engine_process.protocol import Ended, Prefix, Summarised, TaskFailed
from specchat.remote.limits import CANNOT_CONTINUE
from specchat.stats.line import STOPPED, limit_words, reading_words, repeating_words
from specchat.stats.turn import TurnModel, TurnView
from specchat.store.images import StoredImage
from specchat.store.records import State, StoredMessage
from specchat.terminal.filter import clean
from specchat.traces.trace import Trace
from specchat.tui.engine_link import EngineLink
from specchat.tui.pace import Throttle
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.tools import ToolCalls
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.transcript.answer import TranscriptAnswer
from specchat.tui.transcript.entries import Siblings, UserMessage
from specchat.tui.transcript.summary_entry import SummaryEntry
from specchat_engine.decoding.rounds import PromptProgress, Round
from specchat_engine.prompt.messages import ToolCall
from specchat_engine.settings import Settings

_PLAIN_NOW = "That was the third time in a row: speculation is off now (k 0). F2 or /spec auto turns it on again."
_AGAIN = "The conversation is kept; the next message starts the engine again."

_FIGURES_PAUSE = 0.5
_READING_PAUSE = 0.25
_STORING_PAUSE = 1.0


class TurnRunner:
    """Answers one message at a time."""

    def __init__(
        self,
        owner: Widget,
        state: ChatState,
        view: ChatView,
        link: EngineLink,
        tools: ToolCalls,
        on_change: Callable[[], None],
    ) -> None:
        """`on_change` is called when an answer begins or ends."""
        self._owner = owner
        self._state = state
        self._view = view
        self._link = link
        self._tools = tools
        self._on_change = on_change
        self._figures = Throttle(owner, _FIGURES_PAUSE, self._show_figures)
        self._reading = Throttle(owner, _READING_PAUSE, self._read_ahead)
        self._storing = Throttle(owner, _STORING_PAUSE, self.store_running)

    def send(self, text: str, shown: str, images: tuple[StoredImage, ...] = ()) -> None:
        """Asks for an answer to a message with images; `shown` is its text with long pastes folded.

        It is stored at once, and waits while the models are loading. Call it while nothing is answered.
        """
        state, view, session = self._state, self._view, self._state.session
        edited = state.editing
        self.stop_editing()
        if edited is None:
            for result in state.close_calls():
                view.show_last(result)
        message = state.ask(text, edited, images)
        view.transcript.add(UserMessage(shown or text, key=message.id, images=images), follow=True)
        if edited is not None:
            view.show_conversation()
        if session.phase is Phase.READY and state.settings is not None:
            self.answer(state.settings)
        else:
            state.waiting = session.conversation.begin_answer()
            state.archive.said(session.conversation, state.waiting)

    def send_waiting(self) -> None:
        """Begins the answer that waited for the models."""
        waiting, settings = self._state.waiting, self._state.settings
        if waiting is not None and settings is not None and self._state.turn is None:
            self._state.waiting = None
            self.answer(settings, waiting=waiting)

    def answer(
        self,
        settings: Settings,
        prefix: Prefix = (),
        *,
        waiting: StoredMessage | None = None,
        goes_on: bool = False,
    ) -> None:
        """Begins an answer to the end of the conversation, or the one that waited; it begins with `prefix`.

        One that `goes_on` follows the results of calls in the same turn.
        """
        state, session = self._state, self._state.session
        if not goes_on:
            self._tools.begin()
        message, question = state.begin(prefix, frozen=state.frozen, waiting=waiting, tools=self._tools.offer)
        answer = TranscriptAnswer(session.answerer, state.live_view, key=message.id)
        answer.siblings = Siblings(*session.conversation.place(message.id))
        state.turn = RunningTurn(session, message, question, settings, answer)
        self._view.transcript.add(answer)
        self._link.ask(question, settings)
        self._on_change()

    def call(self, calls: tuple[ToolCall, ...]) -> None:
        """Makes the calls of the answer that has ended; the next answer follows their results."""
        session = self._state.session

        def go_on() -> None:
            if self._state.settings is not None and session is self._state.session:
                self.answer(self._state.settings, goes_on=True)

        self._tools.make(calls, go_on)

    def regenerate(self, answer: int | None = None) -> None:
        """Adds another answer beside this one, or beside the last one."""
        if self._view.is_busy() or self._state.settings is None:
            return
        last = self._state.last_answer
        if last is None:
            self._view.note("there is no answer yet")
            return
        self.answer_again(last.id if answer is None else answer)

    def answer_again(self, answer: int, prefix: Prefix = ()) -> None:
        """Adds another answer beside this one; it begins with `prefix`."""
        conversation, settings = self._state.session.conversation, self._state.settings
        if self._view.is_busy() or settings is None:
            return
        selected = self._view.transcript.selected
        conversation.rewind_to(conversation.message(answer).parent)
        self._view.show_conversation()
        self.answer(settings, prefix)
        if selected is not None and self._state.turn is not None:
            self._view.transcript.select(self._state.turn.answer)

    @property
    def edits_answer(self) -> bool:
        """Whether the prompt holds the text of an answer, to be changed."""
        editing, conversation = self._state.editing, self._state.session.conversation
        return editing is not None and conversation.message(editing).role == "assistant"

    def edit_answer(self, text: str | None = None, answer: int | None = None) -> None:
        """Lets the model go on from another text of this answer, or of the last one; without a text, the prompt gets
        the present one to be changed."""
        state, view = self._state, self._view
        if view.is_busy():
            return
        last = state.last_answer
        if last is None or state.settings is None:
            view.note("there is no answer yet")
        elif state.session.server is not None:
            view.note(CANNOT_CONTINUE)
        elif text is not None:
            self.answer_again(last.id, text)
        elif view.prompt.text:
            view.note("send or delete what you are writing first")
        else:
            state.editing = last.id if answer is None else answer
            view.prompt.write_verbatim(state.session.conversation.message(state.editing).content)
            view.prompt.focus()
            view.show_editing("the model goes on from the end of this text", state.editing)
            view.note("change the answer; Enter lets the model go on, beside the first one")

    def go_on_with(self, text: str) -> None:
        """Lets the model go on from the text of the answer that was edited."""
        answer = self._state.editing
        self.stop_editing()
        if answer is not None:
            self.answer_again(answer, text)

    def stop_editing(self) -> None:
        """Makes what is written a new message."""
        self._state.editing = None
        self._view.prompt.verbatim = False
        self._view.end_editing()

    def leave_edit(self) -> None:
        """Leaves the message or answer that is being edited as it was."""
        self.stop_editing()
        self._view.prompt.write("")

    def edit(self, message: int | None = None) -> None:
        """Puts this message, or the user's last one, back into the prompt."""
        if message is not None and self._state.session.conversation.message(message).role == "assistant":
            self.edit_answer(answer=message)
        else:
            self._edit_question(message)

    def _edit_question(self, question: int | None) -> None:
        if self._view.is_busy():
            return
        last = self._state.last_question
        if last is None:
            self._view.note("there is no message of yours yet")
            return
        chosen = last.id if question is None else question
        if not self._view.prompt.give_back(self._state.session.conversation.message(chosen).content):
            self._view.note("send or delete what you are writing first")
            return
        self._state.editing = chosen
        self._view.prompt.focus()
        self._view.show_editing("sent in place of the marked message", chosen)

    def switch(self, message: int, steps: int) -> None:
        """Shows the branch `steps` beside the one with this message."""
        conversation, selected = self._state.session.conversation, self._view.transcript.selected
        if self._view.is_busy():
            return
        depth = [shown.id for shown in conversation.path()].index(message)
        if conversation.switch(message, steps):
            self._branched()
            if selected is not None:
                self._view.select(conversation.path()[depth].id)

    def go_on_from(self, message: int | None) -> None:
        """Ends what is shown with this message; None shows an empty beginning. The next message is a new branch."""
        if not self._view.is_busy():
            self._state.session.conversation.rewind_to(message)
            self._branched()

    def reading(self, progress: PromptProgress) -> None:
        """Says below the answer how far its prompt has been read."""
        if self._state.turn is not None:
            self._state.turn.answer.show_below(f"{reading_words(progress)}…")

    def started(self, line: Mapping[str, Any]) -> None:
        """Takes the first line of the turn's trace: the engine has read the prompt."""
        if self._state.turn is not None:
            self._state.turn.started(line)

    def summarised(self, event: Summarised) -> None:
        """Stores the summary of the oldest turns, and shows it before the answer."""
        state, turn, transcript = self._state, self._state.turn, self._view.transcript
        if turn is None:
            return
        state.summarise(turn.message.id, event)
        turn.answer.remove()
        transcript.add(SummaryEntry(event.text))
        transcript.add(turn.answer)

    def take(self, turn: RunningTurn[TranscriptAnswer], rounds: Sequence[Round]) -> None:
        """Adds rounds to the answer that is being written."""
        turn.take(rounds)
        if words := repeating_words(turn.repeats):
            turn.answer.show_below(f"the answer {words}: Esc stops it")
        self._figures.request()
        self._storing.request()

    def recount(self, turn: RunningTurn[TranscriptAnswer], rounds: Sequence[Round]) -> None:
        """Takes all rounds of the answer again."""
        turn.recount(rounds)
        self._figures.request()

    def finish(self, turn: RunningTurn[TranscriptAnswer], last: Ended | TaskFailed) -> None:
        """Closes the answer, stores it, and gives an unanswered message back to the prompt."""
        state, view = self._state, self._view
        state.turn = None
        self._figures.cancel()
        self._storing.cancel()
        view.end_passing()
        outcome = turn.finish(last)
        state.store_ended(turn.message, turn.trace(last))
        view.show_figures(outcome.figures)
        if outcome.unanswered is None and not state.session.conversation.holds(turn.message.id):
            view.show_conversation()
        if outcome.unanswered is not None:
            if isinstance(last, TaskFailed):
                turn.answer.remove()
                view.unsay(outcome.unanswered)
            else:
                view.put_back(outcome.unanswered)
        if isinstance(last, TaskFailed):
            lines = (clean(last.message), _AGAIN if last.died else "", _PLAIN_NOW if outcome.gave_up else "")
            view.notice("\n".join(filter(None, lines)), failure=True)
            if state.settings is not None:
                view.knobs.show(state.settings)
        view.show_header()
        ended = last.reason if isinstance(last, Ended) else None
        if state.settings and (words := limit_words(ended, state.settings.max_tokens, "/set max-tokens")):
            view.note(words)
        self._on_change()

    def leave(self) -> None:
        """Stops the running answer or call, without waiting for its end; the text so far is stored as stopped."""
        turn, self._state.turn = self._state.turn, None
        if self._state.calling:
            self._tools.leave()
        if turn is None:
            return
        session = self._state.session
        self._link.forget()
        unanswered = session.answered(turn.message.id, turn.text, turn.num_tokens, None, STOPPED)
        if unanswered is not None:
            self._view.put_back(unanswered)
        if session.conversation.holds(turn.message.id):
            message = session.conversation.message(turn.message.id)
            self._state.archive.left(session.conversation.put(replace(message, state=State.STOPPED)))
        else:
            self._state.store_ended(turn.message, None)
        self._on_change()

    def stop(self) -> None:
        """Stops the running answer."""
        self._link.client.cancel()
        self._view.note("stopping", passing=True)

    def apply(self, settings: Settings, *, remember: bool = True) -> None:
        """Other settings from the next round on; the session keeps them unless `remember` is false."""
        session = self._state.session
        before = session.settings
        self._state.apply(settings, remember=remember)
        if self._state.turn is not None:
            self._state.turn.turn(settings)
        self._link.client.set(settings)
        self._view.show_header()
        if before is not None and settings.thinking != before.thinking and (why := session.unheard(settings)):
            self._view.note(why)

    def change_settings(self, settings: Settings, *, remember: bool = True) -> None:
        """Applies settings and shows them in the knobs."""
        self._view.knobs.show(settings)
        self.apply(settings, remember=remember)

    def prompt_changed(self) -> None:
        """Lets the engine read what is being written. An emptied prompt ends the editing of an earlier message."""
        if self._state.editing is not None and not self._view.prompt.text:
            self.stop_editing()
            self._view.note("what you write now is a new message")
        self._reading.request()

    def recall(self, trace: Trace | None) -> None:
        """Shows the figures of an answer that was given before, and what it left in the context; None for no answer."""
        session = self._state.session
        memory = session.loaded.memory if session.loaded else None
        session.used, figures = 0, TurnView(memory=memory)
        if trace is not None:
            session.used = (trace.stats["prompt_tokens"] or 0) + trace.stats["num_tokens"]
            model = TurnModel(memory=memory, verifier=str(trace.start.get("verifier") or ""))
            model.observe(trace.rounds)
            figures = model.final_view(trace.stats)
        self._view.show_figures(figures)
        self._view.show_header()

    def store_running(self) -> None:
        """Stores the text of the running answer, in case the app crashes."""
        turn = self._state.turn
        if turn is not None:
            self._state.archive.grew(turn.message, turn.text)

    def cut_running(self) -> None:
        """Stores the running answer as cut off, because specchat ends."""
        turn = self._state.turn
        if turn is not None:
            self._state.archive.left(replace(turn.message, content=turn.text, state=State.CUT))

    def _branched(self) -> None:
        self._state.archive.changed(self._state.session.conversation.session)
        self._view.show_conversation()
        self._owner.run_worker(self._recall_last(), group="recalled", exclusive=True)

    async def _recall_last(self) -> None:
        last = self._state.last_answer
        trace = await self._state.archive.sound_trace(last)
        if last == self._state.last_answer and self._state.turn is None:
            self.recall(trace)

    def _read_ahead(self) -> None:
        text, session = self._view.prompt.text.strip(), self._state.session
        if text and self._state.editing is None and session.settings is not None and session.phase is Phase.READY:
            self._link.prepare(session, session.settings, text, session.offered(self._tools.next_offer))

    def _show_figures(self) -> None:
        if self._state.turn is not None:
            self._view.show_figures(self._state.turn.view())
            self._view.show_header()
