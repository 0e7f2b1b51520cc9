"""What each command does with the engine: some at once, most of them in their turn."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from specchat.bench.plan import DRAFTED
from specchat.learning import BackgroundTraining, Learned, Learning
from specchat.texts import Collections, Refreshing
from specchat.worker.gate import Gate
from specchat.worker.loading import Progress, by_hundredths, describe, open_models, open_what_fits, progress_told
from specchat.worker.protocol import (
    Cancel,
    ChatMessage,
    Command,
    Ended,
    Event,
    Freeze,
    Generate,
    Inspect,
    Inspected,
    Keep,
    Kept,
    Load,
    Loading,
    Notice,
    Prepare,
    Recall,
    Recalled,
    Set,
    Started,
    Step,
    Summarised,
    Task,
    Threads,
    Time,
    Timed,
    Timing,
    WorkerFailed,
)
from specchat.worker.reading import told_while_reading
from specchat.worker.records import recall
from specchat.worker.streams import unexpected
from specchat.worker.summary import split, system_of, with_summary, write_summary
from specchat.worker.tool_calls import called, prompt_of
from specchat.worker.upkeep import Upkeep
from specchat_assets import is_guide
from specchat_engine import Engine, Prompt, Session, TurnStats
from specchat_engine.decoding.turn_recorder import TurnRecorder
from specchat_engine.errors import Cancelled, EngineError, PairError, TextStoreError
from specchat_engine.policy.acceptance import kind_of
from specchat_engine.settings import Settings

_MOST_PLAIN = 3
"""The built-in pair is there to be watched: after so many plain rounds it drafts, whatever that costs."""

_STOPPED: dict[type[Command], str] = {
    Load: "loading was stopped",
    Inspect: "looking closer was stopped",
    Time: "timing was stopped",
}


class Work:
    """Holds the engine and does what the commands ask. Events go to `send`.

    Only the listening thread calls `hear`, and only the working thread calls everything else.
    """

    def __init__(self, send: Callable[[Event], None]) -> None:
        self._send = send
        self._gate = Gate()
        self._cancelled = threading.Event()
        self._guard = threading.Lock()
        self._settings: Settings | None = None
        self._engine: Engine | None = None
        self._session: Session | None = None
        self._upkeep: Upkeep | None = None
        self._refreshing = Refreshing()
        self._training = BackgroundTraining()
        self._draft: Path | None = None
        self._learned_name = ""

    def hear(self, command: Command) -> None:
        """Does what cannot wait for the running command, and prepares for the one that was heard."""
        with self._guard:
            match command:
                case Cancel():
                    self._cancelled.set()
                    if self._session is not None:
                        self._session.cancel()
                    self._gate.stop()
                case Set(settings):
                    self._settings = settings
                    if self._session is not None:
                        self._session.settings = settings
                case Threads(target, draft):
                    if self._engine is not None:
                        self._engine.use_threads(target, draft)
                case Freeze(on):
                    self._gate.freeze(on)
                case Step(rounds):
                    self._gate.step(rounds)
                case Generate(settings=settings, frozen=frozen):
                    self._cancelled.clear()
                    self._settings = settings
                    self._gate.begin(frozen)
                case Load() | Inspect() | Time():
                    self._cancelled.clear()

    def do(self, command: Task, busy: Callable[[], bool]) -> None:
        """Does a task and sends its events. If it fails, the last of them says why.

        `busy` says whether another task waits. Raises BrokenPipeError if nobody reads the events any more.
        """
        try:
            match command:
                case Load():
                    self._load(command)
                case Generate():
                    self._generate(command)
                case Prepare():
                    self._prepare(command, busy)
                case Inspect():
                    self._inspect(command)
                case Keep():
                    self._send(self._keep(command))
                case Recall():
                    restored = self._engine is not None and self._engine.restore_memory(Path(command.folder))
                    self._send(Recalled(restored))
                case Time():
                    self._time(command)
                case Threads():
                    self._measure_again(command)
        except EngineError as error:
            stopped = self._cancelled.is_set() or isinstance(error, Cancelled)
            self._send(WorkerFailed(_STOPPED.get(type(command), str(error)) if stopped else str(error)))
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - the outermost frame of the process: the log gets the traceback
            self._send(WorkerFailed(unexpected(error)))

    def measure(self) -> bool:
        """Makes one pass of the measurements that are left; False if there are none. What was found is kept."""
        if self._upkeep is None:
            return False
        if self._upkeep.measure():
            return True
        self._upkeep.keep()
        return False

    def close(self) -> None:
        """Frees the models."""
        self._refreshing.stop()
        self._training.stop()
        if self._engine is not None:
            self._engine.close()

    def _load(self, command: Load) -> None:
        self._unload()
        opened = open_what_fits(command, self._loading())
        engine = self._engine = opened.engine
        self._draft, self._learned_name = opened.draft, opened.learned_name
        recall(engine)
        if is_guide(Path(command.target)):
            engine.controller.most_plain = _MOST_PLAIN
        self._upkeep = Upkeep(engine)
        self._send(describe(opened))

    def _loading(self) -> Progress:
        """Sends the progress of a load from inside it, since it is one call, and stops it after a cancel."""
        return progress_told(lambda share: self._send(Loading(share)), self._cancelled.is_set)

    def _use_stores(self) -> None:
        """Drafts from the stores that are on now, if any were when the models were loaded."""
        engine = self._engine
        if engine is None or "store" not in engine.drafters:
            return
        with suppress(TextStoreError):
            engine.use_stores(Collections().indexes(engine.header) or {})

    def _learned(self) -> Learned | None:
        """What the loaded draft model has learned; None if it does not learn.

        What was adopted meanwhile drafts beside the draft model that it came from, since it may have forgotten other
        kinds of text.
        """
        engine, learning = self._engine, Learning()
        if not (engine and engine.draft and self._draft and learning.is_on) or engine.translated_because:
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
            self._send(Notice(f"The draft model has learned, and drafts as {self._learned_name}: {learned.told()}."))
        return learned

    def _learn(self, engine: Engine, learned: Learned, session: Session, command: Generate) -> None:
        """Keeps the turn and what it accepted of each draft, and begins to train if enough is new."""
        recorder = session.watch
        assert isinstance(recorder, TurnRecorder)
        asked = next((one.content for one in reversed(command.messages) if one.role == "user"), "")
        given, answer = len(session.given_ids), session.answer_ids
        turn = recorder.turn([*session.prompt_ids, *answer[:given]], answer[given:], kind_of(asked))
        session.watch = None
        if turn is None:
            return
        with suppress(OSError):  # a full disk ends the recording, not the chat
            learned.recorded.add(turn)
            drafts = {"model": engine.draft, **engine.further}
            files = {name: Path(info.path) for name, info in drafts.items() if info}
            tested = [(files[name], counts) for name, counts in recorder.tested.items() if name in files]
            learned.saw(len(turn.best), turn.kind, tested)
            self._training.begin(Path(engine.target.path), learned)

    def _unload(self) -> None:
        with self._guard:
            self._session = None
        if self._engine is not None:
            self._engine.close()
            self._engine = self._upkeep = None

    def _generate(self, command: Generate) -> None:
        session = self._session_for(command)
        if self._cancelled.is_set():
            self._send(Ended("cancelled", "", TurnStats().to_json()))
            return
        command = self._summarised(session, command)
        tell_news = self._news_of(session)

        def hold() -> None:
            if self._gate.holds:
                tell_news()
            self._gate.wait()
            if self._cancelled.is_set():
                session.cancel()

        session.hold, session.prediction = hold, command.prediction
        self._use_stores()
        learned = None if any(one.images for one in command.messages) else self._learned()
        session.watch = TurnRecorder() if learned else None
        self._training.pause()
        try:
            with told_while_reading(session, self._send) as read:
                for event in session.answer(_prompt(session, command), command.turn, command.attempt, command.prefix):
                    read()
                    tell_news()
                    self._send(event)
        finally:
            self._training.resume()
        tell_news()
        if learned and self._engine is not None:
            self._learn(self._engine, learned, session, command)
        if self._engine is not None and self._upkeep is not None:
            self._upkeep.answered()
            self._upkeep.keep()
            if "store" in self._engine.drafters:
                self._refreshing.after_answer(Path(self._engine.target.path))
        reason, stats = session.end_reason or "error", session.stats.to_json()
        answer = called(session, command)
        self._send(Ended(reason, session.text, stats, session.costs, answer.calls, answer.content))

    def _summarised(self, session: Session, command: Generate) -> Generate:
        """The command, with its oldest turns replaced by a summary if they do not fit and the user wants that."""
        if session.settings.context_full != "summarise" or not session.num_dropped(_prompt(session, command)):
            return command
        older, latest = split(command.messages)
        if not older:
            return command
        self._send(Notice("the context is nearly full: the model summarises the oldest turns first"))
        system = system_of(command.messages)
        try:
            text = write_summary(session, older, system, self._cancelled.is_set)
        finally:
            self._session_for(command)  # gives the session its settings back
        if not text:
            return command
        self._send(Summarised(text, len(older)))
        return replace(command, messages=(ChatMessage("system", with_summary(system, text)), *latest))

    def _news_of(self, session: Session) -> Callable[[], None]:
        """Sends that the answer began, once, and the notices that came since the last call."""
        started, notices = False, 0

        def tell() -> None:
            nonlocal started, notices
            if not started:
                started = True
                self._send(Started(session.start_line()))
            for notice in session.notices[notices:]:
                self._send(Notice(notice))
            notices = len(session.notices)

        return tell

    def _prepare(self, command: Prepare, busy: Callable[[], bool]) -> None:
        if self._engine is None:
            return
        try:
            session = self._session_for(command)
            session.prepare(_prompt(session, command), busy)
        except EngineError as error:
            sys.stderr.write(f"reading ahead stopped: {error}\n")

    def _inspect(self, command: Inspect) -> None:
        session = self._session_for(command)
        inspection = session.inspect(
            command.position,
            command.asked,
            messages=_prompt(session, command),
            tokens=command.tokens,
            sharpness=command.sharpness,
            cancelled=self._cancelled.is_set,
        )
        self._send(Inspected(inspection))

    def _keep(self, command: Keep) -> Kept:
        if self._engine is None:
            return Kept(False, "no model is loaded: nothing was read that could be kept")
        try:
            self._engine.save_memory(Path(command.folder), command.limit)
        except EngineError as error:
            return Kept(False, str(error))
        return Kept(True)

    def _time(self, command: Time) -> None:
        """The loaded pair makes room: two engines would share processor and memory."""
        from specchat.bench.measure import time_draft

        self._unload()
        tell = by_hundredths(lambda share: self._send(Timing(share)))

        def progress(share: float) -> None:
            if self._cancelled.is_set():
                raise Cancelled("timing was stopped")
            tell(share)

        opened = open_models(command, command.draft, self._loading())
        with opened.engine as engine:
            if DRAFTED.drafter not in engine.drafters:
                raise PairError(engine.plain_because or "the draft was rejected")
            timed = time_draft(engine, command.seconds, hear=progress)
        self._send(Timed(timed))

    def _measure_again(self, threads: Threads) -> None:
        """Applies thread counts again, for a pair that was still loading when they were heard, and measures them."""
        if self._engine is not None and self._upkeep is not None:
            self._engine.use_threads(threads.target, threads.draft)
            self._upkeep.measure_again()

    def _session_for(self, command: Generate | Prepare | Inspect) -> Session:
        """The pair's session with the seed and the settings of the command, for an answer those that were set since.

        The session stays the same while the pair is loaded, so that lookup can draft from other conversations. Raises
        SettingError for settings that another conversation begins with and that the pair cannot serve, for a drafter
        that was unloaded, and EngineError if nothing is loaded.
        """
        seed, settings = command.seed, command.settings
        with self._guard:
            if isinstance(command, Generate) and self._settings is not None:
                settings = self._settings
            if self._engine is None:
                raise EngineError("no model is loaded")
            drafters = self._engine.drafters
            if self._session is None:
                self._session = self._engine.session(None, settings, seed)
            elif self._session.seed != seed or (isinstance(command, Generate) and settings.drafter not in drafters):
                self._engine.check(settings)
            self._session.seed, self._session.settings = seed, settings
            return self._session


def _prompt(session: Session, command: Generate | Prepare | Inspect) -> Prompt:
    """What a command asks."""
    return prompt_of(session.pair, command.messages, command.tools)
