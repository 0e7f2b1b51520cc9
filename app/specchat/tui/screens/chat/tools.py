"""Tools in the chat: which are on, consent before a call, and the calls of an answer.

Servers start and calls run in a thread of their own, so that the screen never waits for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import Screen

from specchat.engine_process.protocol import NO_TOOLS, Offer
from specchat.errors import SpecchatError
from specchat.tools.consent import ConsentAnswer
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.transcript.tool_entry import ToolEntry
from specchat_engine.prompt.messages import ToolCall

if TYPE_CHECKING:  # imported when tools are used for the first time
    from specchat.chat.tool_turn import ToolTurn
    from specchat.tools.tool import Tool, ToolResult


@dataclass(slots=True, eq=False)
class _Calls:
    """The calls of an answer while they are made, the entry of the one that runs, and what to do after them."""

    calls: tuple[ToolCall, ...]
    turn: ToolTurn
    then: Callable[[], None]
    entry: ToolEntry | None = None
    made: int = 0


class ToolCalls:
    """Turns tools on and off, and makes the calls of one answer at a time."""

    def __init__(self, screen: Screen[None], state: ChatState, view: ChatView, on_change: Callable[[], None]) -> None:
        """`on_change` is called when a call or the start of a server begins or ends."""
        self._screen = screen
        self._state = state
        self._view = view
        self._on_change = on_change
        self._turn: ToolTurn | None = None
        self._calls: _Calls | None = None
        self._switching = False
        self._closed = False
        self._verdict: Future[ConsentAnswer] | None = None
        self._one_at_a_time = threading.Lock()

    @property
    def running(self) -> bool:
        """Whether a call is made or a server starts."""
        return self._calls is not None or self._switching

    @property
    def offer(self) -> Offer:
        """What the next answer of the turn may call."""
        return NO_TOOLS if self._turn is None else self._turn.offer

    @property
    def next_offer(self) -> Offer:
        """What the first answer to the next message may call."""
        turn = self._state.tools.turn(self._ask)
        return NO_TOOLS if turn is None else turn.offer

    def begin(self) -> None:
        """Begins a turn, in which the tools that are on may be called."""
        self._turn = self._state.tools.turn(self._ask)

    def use(self, name: str, on: bool) -> None:
        """Turns a server or the built-in tools on or off; without a name, shows them all."""
        toolbox = self._state.tools.opened()
        if not name:
            self._view.notice("\n".join(("Tools that the model may call:", *toolbox.summary_lines())))
        elif self.running:
            self._view.note("Esc stops the call first", passing=True)
        else:
            self._switching = True
            self._view.note(f"{name} is turned {'on' if on else 'off'} …", passing=True)
            self._screen.run_worker(partial(self._switch, name, on), thread=True, group="tools")
            self._on_change()

    def allow_file(self, path: Path) -> None:
        """Lets the model read a file in this chat."""
        self._view.note(self._state.tools.allow_file(path))
        self._show_number()

    def make(self, calls: tuple[ToolCall, ...], then: Callable[[], None]) -> None:
        """Makes the calls of an answer in order and adds their results to the conversation; then calls `then`.

        If the conversation is left meanwhile, what is not yet made is stopped and `then` is not called.
        """
        if self._turn is None:
            return
        self._calls = made = _Calls(calls, self._turn, then)
        self._state.calling = True
        self._show_next(made)
        self._screen.run_worker(partial(self._make, made), thread=True, group="tools")
        self._on_change()

    def stop(self) -> None:
        """Stops the running call or the server that starts. The model reads that the call was stopped."""
        if self._turn is not None:
            self._turn.stop()
        else:
            self._state.tools.stop()
        self._view.note("stopping the call" if self._calls is not None else "stopping the server", passing=True)

    def leave(self) -> None:
        """Stops the calls without waiting for their results, because the conversation is left."""
        turn, self._turn, self._calls = self._turn, None, None
        self._state.calling = False
        if turn is not None:
            turn.stop()
        self._decide(None)
        self._on_change()

    def close(self) -> None:
        """Ends all calls and servers, because specchat ends."""
        self._closed = True
        if self._turn is not None:
            self._turn.stop()
        self._decide(None)
        if self.running:
            self._state.tools.stop()
        self._state.tools.close()

    def _switch(self, name: str, on: bool) -> None:
        """Turns a server on or off, in a thread."""
        lines: list[str] = []
        problem = ""
        with self._one_at_a_time:
            try:
                lines = self._state.tools.turn_on_or_off(name, on=on)
            except SpecchatError as error:
                problem = str(error)
        self._screen.call_later(self._switched, lines, problem)

    def _switched(self, lines: list[str], problem: str) -> None:
        self._switching = False
        self._view.end_passing()
        self._view.notice(problem or "\n".join(lines), failure=bool(problem))
        self._show_number()
        self._on_change()

    def _show_number(self) -> None:
        """Shows in the header how many tools are on; says once that the built-in guide does not get them."""
        self._view.show_header()
        if note := self._state.tools.guide_note(self._state.session.options.target):
            self._view.notice(note)

    def _make(self, made: _Calls) -> None:
        """Makes calls, in a thread."""
        with self._one_at_a_time:
            for result in made.turn.results(made.calls):
                self._screen.call_later(self._take, made, result)
        self._screen.call_later(self._end, made)

    def _take(self, made: _Calls, result: ToolResult) -> None:
        """Adds a result to the conversation and the archive, and shows it."""
        if made is not self._calls or made.entry is None:
            return
        self._state.add_result(made.calls[made.made], result)
        made.entry.finish(result.text, failed=result.failed, seconds=result.seconds)
        made.made += 1
        if made.made < len(made.calls):
            self._show_next(made)

    def _show_next(self, made: _Calls) -> None:
        call = made.calls[made.made]
        made.entry = ToolEntry(call.name, call.arguments)
        self._view.transcript.add(made.entry)

    def _end(self, made: _Calls) -> None:
        if made is self._calls:
            self._calls = None
            self._state.calling = False
            self._view.end_passing()
            self._on_change()
            made.then()

    def _ask(self, tool: Tool, call: ToolCall) -> ConsentAnswer:
        """What the user says about a call; blocks the thread that makes the calls."""
        made, self._verdict = self._calls, Future()
        if self._closed or made is None:
            return ConsentAnswer.NO
        self._screen.call_later(self._show_consent, made, tool, call)
        return self._verdict.result()

    def _show_consent(self, made: _Calls, tool: Tool, call: ToolCall) -> None:
        from specchat.tui.screens.tool_consent import ToolConsent

        if made is not self._calls:
            self._decide(None)
            return
        where = self._state.tools.opened().where(tool)

        def decided(verdict: ConsentAnswer | None) -> None:
            if made.entry is not None:
                made.entry.wait("Esc stops it")
            self._decide(verdict)

        if made.entry is not None:
            made.entry.wait("needs your consent")
        server = self._state.session.server
        host = server.host if server is not None else ""
        consent = ToolConsent(tool, call.arguments, where, host=host)
        self._screen.app.push_screen(consent, decided)

    def _decide(self, verdict: ConsentAnswer | None) -> None:
        """Answers the thread that asks, if one does."""
        awaited, self._verdict = self._verdict, None
        if awaited is not None and not awaited.done():
            awaited.set_result(verdict or ConsentAnswer.NO)
