"""What the chat keeps of its conversations, and finds again: written behind its back, so that it never waits."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from specchat.chat.conversation import Conversation
from specchat.errors import SpecchatError
from specchat.stats.summary import Summary
from specchat.store.keeper import Keeper
from specchat.store.records import State, StoredMessage, StoredSession
from specchat.store.store import Store
from specchat.traces.reading import read_trace
from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import Round
from specchat_engine.settings import Settings

T = TypeVar("T")

_MOMENT = 2.0
_KEPT_SECONDS = 30 * 24 * 3600
"""So long a deleted session can be brought back."""

_TRACES_AT_HAND = 32
"""So many traces stay in memory; the others are read again."""


class Archive:
    """The stored conversations as the chat uses them. Nothing of an empty conversation is kept."""

    def __init__(self, path: Path, on_trouble: Callable[[str | None], None]) -> None:
        """`on_trouble` is told, in another thread, why nothing can be saved, and None when all is well again."""
        self._path = path
        self._on_trouble = on_trouble
        self._known: set[int] = set()
        self._traces: OrderedDict[int, Trace] = OrderedDict()

    @property
    def trouble(self) -> str | None:
        """Why nothing is being saved; None while all is well."""
        return self._keeper.trouble

    @cached_property
    def _keeper(self) -> Keeper:
        """The thread that writes, started when there is something to do."""
        return Keeper(self._path, self._on_trouble)

    def said(self, conversation: Conversation, message: StoredMessage) -> None:
        """A message was added to a conversation, which is kept from its first one on."""
        session = conversation.session
        if session.id not in self._known:
            self._known.add(session.id)
            self._keeper.do(lambda store: store.create(session))
        self._keeper.do(lambda store: store.add_message(message))

    def grew(self, message: StoredMessage, text: str) -> None:
        """An answer came so far: what a crash leaves of it."""
        self._keeper.do(
            lambda store: store.update_message(message.id, content=text, state=State.STREAMING),
            instead_of=("grew", message.id),
        )

    def answered(self, message: StoredMessage, pair: str, trace: Trace) -> None:
        """An answer is over, and this is how it was made."""
        self._remember(message.id, trace)

        def keep(store: Store) -> None:
            store.update_message(message.id, content=message.content, state=message.state, figures=message.figures)
            store.keep_stats(message.id, pair, _stats(trace))

        def keep_trace(store: Store) -> None:
            store.keep_trace(message.id, [json.dumps(line, ensure_ascii=False) for line in trace.lines()])

        self._keeper.do(keep)
        self._keeper.do(keep_trace, spare=True)

    def left(self, message: StoredMessage) -> None:
        """An answer was left in the middle: its text is all that is kept."""
        self._keeper.do(
            lambda store: store.update_message(
                message.id, content=message.content, state=message.state, figures=message.figures
            )
        )

    def unsaid(self, messages: Sequence[int]) -> None:
        """Messages were taken out again, the last one first."""
        for message in messages:
            self._keeper.do(lambda store, message=message: store.remove_message(message))  # type: ignore[misc]

    def changed(self, session: StoredSession) -> None:
        """A session has another title, system prompt, seed, branch or pair."""
        if session.id not in self._known:
            return

        def keep(store: Store) -> None:
            store.rename(session.id, session.title)
            store.set_system(session.id, session.system)
            store.set_seed(session.id, session.seed)
            store.set_head(session.id, session.head)
            store.set_pair(session.id, session.target, session.draft)

        self._keeper.do(keep, instead_of=("changed", session.id))

    def turned(self, session: StoredSession, settings: Settings) -> None:
        """The settings that a session is continued with."""
        if session.id in self._known:
            kept = asdict(settings)
            self._keeper.do(lambda store: store.set_settings(session.id, kept), instead_of=("turned", session.id))

    def tidy(self) -> None:
        """Removes for good what was deleted long ago."""
        self._keeper.do(lambda store: store.purge(_KEPT_SECONDS), spare=True)

    async def open(self, session: int) -> Conversation | None:
        """A stored conversation, behind everything that was written; None where there is none."""

        def load(store: Store) -> Conversation | None:
            found = store.session(session)
            return Conversation(found, store.messages(session)) if found else None

        conversation = await self.do(load)
        if conversation is not None:
            self._known.add(session)
        return conversation

    async def trace(self, message: int) -> Trace | None:
        """How an answer was made; None where that was not kept. Raises SpecchatError for a trace that is damaged."""
        if message not in self._traces:
            lines = await self.do(lambda store: store.trace(message))
            if not lines:
                return None
            self._remember(message, _last_trace(lines))
        return self._traces[message]

    def rounds(self, message: int) -> Sequence[Round]:
        """The rounds of an answer, at once; none where they were not kept or cannot be read in a moment."""
        if message not in self._traces and self.trouble is None:
            found = self._keeper.do(lambda store: store.trace(message))
            try:
                lines = found.result(_MOMENT)
                if lines:
                    self._remember(message, _last_trace(lines))
            except (SpecchatError, TimeoutError, CancelledError):
                found.cancel()
        return self._traces[message].rounds if message in self._traces else ()

    async def do(self, work: Callable[[Store], T]) -> T:
        """The result of work on the store, behind all that was written.

        Raises SpecchatError where it fails; also where nothing can be written now, and then it is not done later.
        """
        return await self._result(self._keeper.do(work))

    async def read(self, work: Callable[[Store], T]) -> T:
        """The same at once, seeing only what has been written by now."""
        return await self._result(self._keeper.read(work))

    def close(self) -> bool:
        """Writes what is left; False where that could not be done."""
        return self._keeper.close()

    async def _result(self, future: Future[T]) -> T:
        """What comes of it, waited for while there is no trouble; given up where whoever waits is cancelled."""
        coming = asyncio.wrap_future(future)
        try:
            while not (await asyncio.wait({coming}, timeout=_MOMENT))[0]:
                if (trouble := self.trouble) is not None:
                    raise SpecchatError(trouble)
        finally:
            future.cancel()
        if coming.cancelled():
            raise SpecchatError("the store was closed: start specchat again")
        return coming.result()

    def _remember(self, message: int, trace: Trace) -> None:
        self._traces[message] = trace
        self._traces.move_to_end(message)
        while len(self._traces) > _TRACES_AT_HAND:
            self._traces.popitem(last=False)


def _last_trace(lines: Sequence[str]) -> Trace:
    return read_trace(lines)[-1]


def _stats(trace: Trace) -> dict[str, Any]:
    """What is kept of a turn's figures: the trace's own, those of each kind of content, and what adds up over turns."""
    summary = Summary.of_turn(trace.rounds, trace.end["stats"] if trace.end else None)
    kinds = {kind: figures.to_stats() for kind, figures in summary.by_kind.items()}
    return dict(trace.stats) | {"kinds": kinds, "summary": summary.to_json()}
