"""The calls of one turn: what the model is offered, whether a call may be made, and what it gave.

A front end asks for an answer with `offer`. If the answer has calls, it takes their results from `results`, adds them
to the conversation, and asks again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from specchat.engine_process.protocol import NO_TOOLS, Offer
from specchat.tools.consent import Consent, Verdict
from specchat.tools.tool import Tool, ToolResult
from specchat.tools.toolbox import Toolbox
from specchat_engine.prompt.messages import ToolCall

MOST_ROUNDS: Final = 8
"""How often a turn may call tools. The answer after that gets none, so a model that never stops calling ends."""

MOST_CALLS: Final = 16
"""The most calls of one answer; further ones are not made."""

Asking = Callable[[Tool, ToolCall], Verdict]
"""Asks the user whether a call may be made."""


class ToolTurn:
    """One turn, from a message of the user to the answer that calls nothing."""

    def __init__(self, toolbox: Toolbox, consent: Consent, ask: Asking) -> None:
        self._toolbox = toolbox
        self._consent = consent
        self._ask = ask
        self._rounds = 0
        self._stopped = False

    @property
    def offer(self) -> Offer:
        """What the next answer may call; nothing once the turn has called often enough."""
        if self._rounds >= MOST_ROUNDS:
            return NO_TOOLS
        return Offer(tuple(tool.to_function() for tool in self._toolbox.tools))

    def results(self, calls: tuple[ToolCall, ...]) -> Iterator[ToolResult]:
        """What the calls of one answer give, one after the other, after asking for those that need consent."""
        self._rounds += 1
        self._stopped = False
        return (
            self._result(call) if number < MOST_CALLS else ToolResult.of("too many calls at once", failed=True)
            for number, call in enumerate(calls)
        )

    def stop(self) -> None:
        """Stops the running call, from any thread. The further calls of the answer are not made."""
        self._stopped = True
        self._toolbox.stop()

    def _result(self, call: ToolCall) -> ToolResult:
        if self._stopped:
            return ToolResult.of("the user stopped the calls before this one", failed=True)
        tool = self._toolbox.named(call.name)
        if tool is not None and self._consent.needed(tool) and not self._consent.say(tool, self._ask(tool, call)):
            return ToolResult.of("the user did not allow this call", failed=True)
        began = time.monotonic()
        result = self._toolbox.call(call)
        return replace(result, seconds=time.monotonic() - began)
