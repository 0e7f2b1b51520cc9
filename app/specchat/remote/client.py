"""An engine behind a URL, used like the one on this machine: it loads, answers, and is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.engine_process.protocol import (
    Ended,
    Event,
    Generate,
    Inspect,
    Kept,
    Loaded,
    Notice,
    Prepare,
    Recalled,
    ServerInfo,
    TaskFailed,
)
from specchat.errors import RemoteError
from specchat.remote.address import Address
from specchat.remote.limits import CANNOT_BRANCH, CANNOT_CONTINUE, CANNOT_KEEP, needs_this_machine
from specchat.remote.round_maker import SOURCE
from specchat.terminal.filter import clean_line
from specchat_engine.load_options import ModelInfo

if TYPE_CHECKING:
    from specchat.remote.servers import RemoteServer
    from specchat.remote.transport import Questions, Stream, Timeouts, Transport
    from specchat_engine import LoadOptions, Settings

_NEXT_ANSWER = "the server takes other settings from the next answer on"
_STOPPED = "loading was stopped"


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a server that is busy or not there is asked again, and for how many seconds at most."""

    attempts: int = 4
    first_wait: float = 0.5
    longest_wait: float = 60.0

    def wait_after(self, failures: int, requested: float | None) -> float | None:
        """The seconds until the next attempt after so many failures; None if there is none."""
        if failures >= self.attempts:
            return None
        wait = self.first_wait * 2 ** (failures - 1) if requested is None else requested
        return wait if wait <= self.longest_wait else None


class RemoteClient:
    """Answers through a server at an address, as `LocalClient` does with a process.

    Nothing is connected before the first load, and the HTTP library is imported then.
    """

    def __init__(self, address: Address, *, timeouts: Timeouts | None = None, patience: Patience | None = None) -> None:
        self._address = address
        self._timeouts = timeouts
        self._patience = patience or Patience()
        self._transport: Transport | None = None
        self._server: RemoteServer | None = None
        self._running: Questions | Stream | None = None
        self._answering = self._changed = self._closed = False
        self._stops = 0
        self._stopped = threading.Event()
        self._said: set[str] = set()
        self._one_at_a_time = threading.Lock()
        self._connecting = threading.Lock()

    def load(self, target: Path, draft: Path | None, options: LoadOptions) -> Iterator[Event]:
        """Asks the server what it is and takes its model of this name: Loaded or TaskFailed.

        A target that is the server's host stands for its first model, or for the one that the address names. A load
        that is stopped, and one after `close`, ends with TaskFailed.
        """
        with self._one_at_a_time:
            stops = self._stops
            try:
                server = self._recognised(target, lambda: self._stops > stops)
            except RemoteError as error:
                yield TaskFailed(_STOPPED if self._stops > stops and not self._closed else str(error))
                return
            finally:
                self._running = None
            self._server = server
            yield self._loaded(server)

    @property
    def first_target(self) -> Path:
        """What stands for the server's first model in a load."""
        return Path(self._address.host)

    def generate(self, request: Generate) -> Iterator[Event]:
        """Answers a conversation: Notice, Started, Round…, perhaps Recounted, then Ended or TaskFailed.

        A `cancel` after this call closes the connection, also before the first event.
        """
        stops = self._stops

        def answer() -> Iterator[Event]:
            with self._one_at_a_time:
                if request.prefix:
                    yield TaskFailed(CANNOT_CONTINUE if isinstance(request.prefix, str) else CANNOT_BRANCH)
                elif self._server is None or self._closed:
                    yield TaskFailed("there is no connection to a server")
                else:
                    self._answering, self._changed = True, False
                    try:
                        yield from self._unsaid(self._answer(self._server, request, lambda: self._stops > stops))
                    finally:
                        self._answering, self._running = False, None

        return answer()

    def inspect(self, request: Inspect) -> Iterator[Event]:
        """TaskFailed: a server does not show its probabilities."""
        yield TaskFailed(needs_this_machine("inspecting a position"))

    def time_draft(self, target: Path, draft: Path, options: LoadOptions, seconds: float) -> Iterator[Event]:
        """TaskFailed: a server has the draft with which it was started."""
        yield TaskFailed(needs_this_machine("timing a draft"))

    def keep(self, folder: Path, *, limit: int) -> Iterator[Event]:
        """Kept, which says why nothing is kept: a server has its own prompt cache."""
        yield Kept(False, CANNOT_KEEP)

    def recall(self, folder: Path) -> Iterator[Event]:
        """Recalled: nothing was."""
        yield Recalled(False)

    def prepare(self, request: Prepare) -> None:
        """Does nothing: a server reads what it is asked."""

    def set(self, settings: Settings) -> None:
        """Notes that the settings changed while an answer runs; the next one has them."""
        self._changed = self._answering

    def use_threads(self, options: LoadOptions) -> None:
        """Does nothing: a server has its own threads."""

    def freeze(self, on: bool) -> None:
        """Does nothing: a server does not wait between rounds."""

    def step(self, rounds: int = 1) -> None:
        """Does nothing, for the same reason."""

    def cancel(self) -> None:
        """Stops the running load or answer: the connection is closed, so that the server stops, too."""
        self._stops += 1
        self._stopped.set()
        if (running := self._running) is not None:
            running.close()

    def close(self) -> None:
        """Stops the running load or answer, which then ends with TaskFailed, and closes all connections."""
        self._closed = True
        self.cancel()
        with self._connecting:
            transport = self._transport
        if transport is not None:
            transport.close()

    def _connected(self) -> Transport:
        """Where requests are sent. Raises RemoteError if it was closed."""
        from specchat.remote.refusals import Closed
        from specchat.remote.transport import Transport

        with self._connecting:
            if self._closed:
                raise Closed
            if self._transport is None:
                self._transport = Transport(self._address, self._timeouts)
            return self._transport

    def _recognised(self, target: Path, stopped: Callable[[], bool]) -> RemoteServer:
        """The server with the model that a load names. Raises RemoteError, also if it was stopped."""
        from specchat.remote.refusals import Closed
        from specchat.remote.servers import recognise

        named = "" if target == self.first_target else target.as_posix()
        questions = self._running = self._connected().questions()
        if stopped():  # between the line before and this one
            questions.close()
        server = recognise(questions, replace(self._address, model=named or self._address.model))
        if stopped():  # while it was asked something that it need not answer
            raise Closed
        return server

    def _loaded(self, server: RemoteServer) -> Loaded:
        model, steered = server.model, bool(server.drafters)
        return Loaded(
            target=ModelInfo(
                model.name, "", model.n_params, model.size_bytes, n_ctx=model.n_ctx, n_vocab=model.n_vocab
            ),
            draft=ModelInfo(server.draft, "") if server.draft else None,
            drafters=server.drafters or (SOURCE,),
            recommended=server.sampling,
            refusal=None,
            n_ctx=model.n_ctx,
            server=ServerInfo(
                server.engine.value,
                self._address.host,
                clean_line(model.id),
                server.version,
                server.models,
                steered,
                server.engine.recounts,
            ),
        )

    def _unsaid(self, events: Iterator[Event]) -> Iterator[Event]:
        """The events, each notice once for this client."""
        for event in events:
            if isinstance(event, Notice):
                if event.text in self._said:
                    continue
                self._said.add(event.text)
            yield event

    def _answer(self, server: RemoteServer, question: Generate, stopped: Callable[[], bool]) -> Iterator[Event]:
        """Asks until the server answers: again where it is busy, with fewer messages where they do not fit."""
        from specchat.remote.refusals import Refused, Unreachable
        from specchat.remote.requests import request_body
        from specchat.remote.trimmed import shortened, without_earlier_images
        from specchat_engine.errors import SettingError
        from specchat_engine.sampling.noise import turn_seed

        self._stopped.clear()
        failures = 0
        seed = turn_seed(question.seed, question.turn, question.attempt)
        while True:
            try:
                body = request_body(
                    server,
                    question.messages,
                    question.settings,
                    seed=seed,
                    prediction=question.prediction,
                    tools=question.tools,
                )
            except SettingError as error:  # an image that is gone
                yield TaskFailed(str(error))
                return
            if body.untaken:
                names = ", ".join(body.untaken)
                yield Notice(f"{server.engine} does not take {names}: this has no effect there")
            try:
                yield from self._attempt(server, question, body.json, stopped)
                return
            except Refused as error:
                fewer = shortened(question.messages) if error.is_too_long else None
                if fewer is not None:
                    question = replace(question, messages=fewer)
                    yield Notice("the oldest messages no longer fit the server's context: it reads the latest only")
                    continue
                blind = without_earlier_images(question.messages) if error.may_mind_images else None
                if blind is not None:
                    question = replace(question, messages=blind)
                    yield Notice(f"{error}; asking again without the earlier images")
                    continue
                failures += 1
                wait = self._patience.wait_after(failures, error.wait) if error.is_busy else None
                failed: RemoteError = error
            except Unreachable as error:
                failures += 1
                wait, failed = self._patience.wait_after(failures, None), error
            except RemoteError as error:
                wait, failed = None, error
            if wait is None:
                yield TaskFailed(str(failed))
                return
            yield Notice(f"{failed}; trying again")
            self._stopped.wait(wait)

    def _attempt(
        self, server: RemoteServer, question: Generate, body: dict[str, object], stopped: Callable[[], bool]
    ) -> Iterator[Event]:
        """The events of one request. Raises RemoteError before the first event, and ends with TaskFailed after it."""
        from specchat.remote.answer import RemoteAnswer
        from specchat.remote.chunks import read_chunk
        from specchat.remote.refusals import streamed_error

        began = time.monotonic()
        answer = RemoteAnswer(server, self._address.host, question, lambda: (time.monotonic() - began) * 1000)
        if stopped():
            yield from self._stopped_at(answer.end("cancelled"))
            return
        stream = self._running = self._connected().stream(self._address.api("/chat/completions"), body)
        if stopped():  # between the line before and this one
            stream.close()
        try:
            for message in stream:
                chunk = read_chunk(message)
                if chunk.error is not None:
                    raise streamed_error(self._address, chunk.error)
                yield from answer.take(chunk)
                if self._changed and answer.begun:
                    self._changed = False
                    yield Notice(_NEXT_ANSWER)
            if stopped():
                yield from self._stopped_at(answer.end("cancelled"))
                return
            if not answer.finished:
                raise RemoteError(f"{self._address.host} ended the stream before the answer was complete")
            yield from answer.end()
        except RemoteError as error:
            if not answer.begun:
                raise
            yield from (event for event in answer.end("error") if not isinstance(event, Ended))
            yield TaskFailed(str(error))
        finally:
            stream.close()

    def _stopped_at(self, end: Iterator[Event]) -> Iterator[Event]:
        """The end of an answer that was stopped: a failure if that was because everything is closed."""
        from specchat.remote.refusals import Closed

        for event in end:
            yield TaskFailed(str(Closed())) if self._closed and isinstance(event, Ended) else event
