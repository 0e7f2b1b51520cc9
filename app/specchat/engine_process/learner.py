"""Learning from a chat: the draft model learns from answers, stores follow the user's texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from specchat.engine_process.loader import Opened
from specchat.engine_process.protocol import Generate
from specchat.learning import BackgroundTraining, Learned, Learning
from specchat.texts import Collections, Refreshing
from specchat_engine import Session
from specchat_engine.decoding.recorder import TurnRecorder
from specchat_engine.errors import EngineError, TextStoreError
from specchat_engine.policy.acceptance import kind_of


class ChatLearning:
    """Records turns, trains in the background, and drafts with what was adopted.

    Call `use` before the first answer. What it runs in the background ends with `stop`.
    """

    def __init__(self) -> None:
        self._refreshing = Refreshing()
        self._training = BackgroundTraining()

    def use(self, opened: Opened) -> None:
        """Learns for these models from now on."""
        self._engine = opened.engine
        self._draft = opened.draft
        self._learned_name = opened.learned_name

    @contextmanager
    def during_answer(self, session: Session, command: Generate, notify: Callable[[str], None]) -> Iterator[None]:
        """Around an answer, which is learned from if it is complete. `notify` gets what the user should know."""
        self._use_stores()
        learned = None if any(message.images for message in command.messages) else self._learned(notify)
        session.watch = TurnRecorder() if learned else None
        self._training.pause()
        try:
            yield
        finally:
            self._training.resume()
        if learned:
            self._learn(learned, session, command)
        if "store" in self._engine.drafters:
            self._refreshing.after_answer(Path(self._engine.target.path))

    def stop(self) -> None:
        """Ends what runs in the background."""
        self._refreshing.stop()
        self._training.stop()

    def _use_stores(self) -> None:
        """Drafts from the stores that are on now, if any were when the models were loaded."""
        if "store" in self._engine.drafters:
            with suppress(TextStoreError):
                self._engine.use_stores(Collections().indexes(self._engine.header) or {})

    def _learned(self, notify: Callable[[str], None]) -> Learned | None:
        """Returns what the loaded draft model has learned; None if it does not learn.

        What was adopted meanwhile drafts beside the draft model that it came from, since it may have forgotten other
        kinds of text.
        """
        engine, learning = self._engine, Learning()
        if not (engine.draft and self._draft and learning.is_on) or engine.translated_because:
            return None
        learned = learning.of(Path(engine.target.path), self._draft)
        used = engine.further.get(self._learned_name)
        current = learned.current.resolve()
        if current == (Path(used.path) if used else self._draft).resolve():
            return learned
        with suppress(EngineError):
            if used:
                engine.exchange_draft(current, self._learned_name)
            else:
                self._learned_name = engine.add_draft(current)
            notify(f"The draft model has learned, and drafts as {self._learned_name}: {learned.summary()}.")
        return learned

    def _learn(self, learned: Learned, session: Session, command: Generate) -> None:
        """Keeps the turn and what it accepted of each draft, and begins to train if enough is new."""
        recorder, engine = session.watch, self._engine
        assert isinstance(recorder, TurnRecorder)
        question = next((message.content for message in reversed(command.messages) if message.role == "user"), "")
        given, answer = len(session.given_ids), session.answer_ids
        turn = recorder.turn([*session.prompt_ids, *answer[:given]], answer[given:], kind_of(question))
        if turn is None:
            return
        with suppress(OSError):  # a full disk ends the recording, not the chat
            learned.recorded.add(turn)
            drafts = {"model": engine.draft, **engine.further}
            files = {name: Path(info.path) for name, info in drafts.items() if info}
            tested = [(files[name], counts) for name, counts in recorder.tested.items() if name in files]
            learned.saw(len(turn.best), turn.kind, tested)
            self._training.begin(Path(engine.target.path), learned)
