"""The tour of two minutes: its steps, and the guide that writes their questions into the prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from specchat.chat.controller import STILL_LOADING
from specchat.stats.line import UNKNOWN
from specchat.tui.screens.chat.conversations import Conversations
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.turns import TurnRunner
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.transcript.answer import TranscriptAnswer
from specchat.tui.transcript.body import View
from specchat_assets import is_guide
from specchat_engine.settings import AUTO, DraftLength, Settings

_FACT = "What is speculative decoding?"
_STORY = "Tell me a short story about a fox who finds a lamp."
_LIST = """Repeat this list without changes:
- apple_juice_17
- window_size_204
- parse_header_x
- green_lamp_88
- user_name_field"""


class TourStep(NamedTuple):
    """A question with what to look at, asked with these settings.

    With `from_start` it is asked in place of the first one: the same text can only follow the same conversation.
    """

    title: str
    text: str
    prompt: str
    k: DraftLength
    drafter: str = "model"
    temperature: float = 0.0
    from_start: bool = False

    def applied(self, settings: Settings, drafters: tuple[str, ...]) -> Settings:
        """The settings of this step, with a drafter that the pair has."""
        drafter = self.drafter if self.drafter in drafters else drafters[0]
        sampling = replace(settings.sampling, temperature=self.temperature)
        return replace(settings, k=self.k, drafter=drafter, sampling=sampling)


STEPS = (
    TourStep(
        "what you see",
        "A small draft model guesses up to 5 tokens ahead, the target checks them in one pass. Blue was guessed right "
        "and came nearly free; what is struck through was rejected, and the target's own word stands beside it.",
        _FACT,
        5,
    ),
    TourStep(
        "low α",
        "α is the share of the checked guesses that are right. Facts are easy to guess. A story at temperature 1.2 is "
        "drawn by chance, and nobody guesses chance: watch the strokes and α.",
        _STORY,
        5,
        temperature=1.2,
    ),
    TourStep(
        "a copy",
        "What the prompt says already needs no draft model: lookup finds the words again and proposes what followed "
        "them. These drafts take almost no time: compare the shares of draft and verify.",
        _LIST,
        8,
        "lookup",
    ),
    TourStep(
        "k by hand",
        "k is how many tokens are guessed at most. Lower it with Ctrl+↓ to 1 or 2 (header: k), then ask the first "
        "question again, in place of the first time: the same text, and fewer tokens a pass. Tab, ↑ and ← go back to "
        "the first time.",
        _FACT,
        5,
        from_start=True,
    ),
    TourStep(
        "k auto",
        "Now k is auto: before each round it is chosen by what was accepted and by what passes cost here. On the story "
        "it guesses little, or not at all where that does not pay. F9 explains every figure.",
        _STORY,
        AUTO,
        temperature=1.2,
    ),
)
_END = (
    "That was all. Look at any token with F4, go round by round with F5, race against plain decoding with F6, turn "
    "everything with F2. F1 has the keys. What you chose before the tour is in force again."
)
_OTHERS = "The tour was made for the built-in pair: with yours its questions may fare otherwise. "


class Tour:
    """The progress of a visitor. `builtin` says whether the pair is the one that the questions were chosen for."""

    def __init__(self, *, builtin: bool) -> None:
        self._place = 0
        self._last_figures = ""
        self._builtin = builtin

    @property
    def step(self) -> TourStep | None:
        """The step to be taken; None after the last."""
        return STEPS[self._place] if self._place < len(STEPS) else None

    @property
    def title(self) -> str:
        """The line above the text."""
        if self.step is None:
            return "Tour: the end · Esc closes"
        return f"Tour {self._place + 1} of {len(STEPS)}: {self.step.title} · Enter asks · Esc leaves the tour"

    @property
    def text(self) -> str:
        """The figures of the last step, and what to look at next."""
        note = _OTHERS if self._place == 0 and not self._builtin else ""
        return self._last_figures + note + (self.step.text if self.step else _END)

    def answered(self, figures: str) -> None:
        """Goes to the next step after any answer; its line of figures is shown first."""
        why = " (×?: no plain pass was timed while the machine was as busy)" if UNKNOWN in figures else ""
        self._last_figures = f"That was {figures}{why}. " if figures else ""
        self._place = min(self._place + 1, len(STEPS))


class TourGuide:
    """Leads through the steps and restores the settings at the end."""

    def __init__(self, state: ChatState, view: ChatView, turns: TurnRunner, conversations: Conversations) -> None:
        self._state = state
        self._view = view
        self._turns = turns
        self._conversations = conversations
        self._tour: Tour | None = None
        self._before: Settings | None = None

    @property
    def active(self) -> bool:
        """Whether the tour is running."""
        return self._tour is not None

    @property
    def asks_again(self) -> bool:
        """Whether the step's question stands in place of an earlier one."""
        step = self._tour.step if self._tour is not None else None
        said = self._state.session.conversation.path()
        return step is not None and step.from_start and bool(said) and self._state.editing == said[0].id

    async def start(self) -> None:
        """Begins the tour in an empty conversation; leaves it if it is running already."""
        if self._tour is not None:
            self.leave()
            return
        if self._view.is_busy():
            return
        if self._state.settings is None:
            self._view.note(STILL_LOADING, passing=True)
            return
        if not self._state.session.conversation.empty:
            await self._conversations.new()
        self._before = self._state.settings
        self._tour = Tour(builtin=is_guide(self._state.session.options.target))
        self._next_step(self._tour)

    def leave(self) -> None:
        """Restores the settings from before the tour; the conversation stays."""
        tour, self._tour = self._tour, None
        if tour is None:
            return
        self._view.tour_bar.display = False
        self._turns.stop_editing()
        prompt = self._view.prompt
        if tour.step is not None and prompt.text.strip() == tour.step.prompt:
            prompt.write("")
        prompt.focus()
        self._restore()

    def answered(self, answer: TranscriptAnswer) -> None:
        """Goes to the next step after an answer, and leaves the answer in the colours that the steps speak of."""
        if self._tour is not None:
            answer.show(View.TRACE)
            self._tour.answered(answer.figures)
            self._next_step(self._tour)

    def _next_step(self, tour: Tour) -> None:
        """Applies the settings of the step and writes its question, unless the visitor is writing."""
        self._view.tour_bar.show(tour.title, tour.text)
        step, settings, loaded = tour.step, self._state.settings, self._state.session.loaded
        if step is None:
            self._restore()
        elif settings is not None and loaded is not None:
            self._turns.change_settings(step.applied(settings, loaded.drafters))
            self._view.prompt.give_back(step.prompt)
            messages = self._state.session.conversation.path()
            if step.from_start and messages and self._view.prompt.text == step.prompt:
                self._state.editing = messages[0].id

    def _restore(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            self._turns.change_settings(before)
