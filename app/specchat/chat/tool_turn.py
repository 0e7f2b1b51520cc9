"""The tools of a chat, and the calls of one turn: what the model is offered, what may be called, and the results.

A front end asks for an answer with `offer`. If the answer has calls, it takes their results from `results`, adds them
to the conversation, and asks again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from specchat.engine_process.protocol import NO_TOOLS, Offer
from specchat.errors import ConfigError
from specchat.terminal.filter import clean_line
from specchat.tools.consent import Consent, ConsentAnswer
from specchat.tools.tool import Tool, ToolResult
from specchat_assets import is_guide
from specchat_engine.prompt.messages import ToolCall

if TYPE_CHECKING:  # imported when tools are used for the first time
    from specchat.tools.toolbox import Toolbox

MOST_ROUNDS: Final = 8
"""How often a turn may call tools. The answer after that gets none, so a model that never stops calling ends."""

MOST_CALLS: Final = 16
"""The most calls of one answer; further ones are not made."""

Asking = Callable[[Tool, ToolCall], ConsentAnswer]
"""Asks the user whether a call may be made."""


NO_CALLS: Final = "The built-in guide never learned to call tools: it answers without them. Other models get them."


class ChatTools:
    """The tools that are on; what may be called without asking, and which files may be read, in this conversation."""

    def __init__(self) -> None:
        self.files: tuple[Path, ...] = ()
        self._consent = Consent()
        self._toolbox: Toolbox | None = None
        self._said_no_calls = False

    @property
    def num_on(self) -> int:
        """The number of tools that are on."""
        return 0 if self._toolbox is None else len(self._toolbox.tools)

    def opened(self) -> Toolbox:
        """The toolbox. Raises ConfigError if the servers in config.toml cannot be read."""
        from specchat.tools.declared import read_servers
        from specchat.tools.toolbox import Toolbox

        if self._toolbox is None:
            self._toolbox = Toolbox(read_servers())
        self._toolbox.use_files(self.files)
        return self._toolbox

    def turn(self, ask: Asking) -> ToolTurn | None:
        """The calls of one turn; None as long as no tool was turned on."""
        return None if self._toolbox is None else ToolTurn(self.opened(), self._consent, ask)

    def names(self) -> Iterator[tuple[str, str]]:
        """What can be turned on and off, each with where it is and what it offers."""
        with suppress(ConfigError):
            yield from ((name, f"{offered} · {where}") for name, where, offered in self.opened().offers())

    def turn_on_or_off(self, name: str, *, on: bool) -> list[str]:
        """Turns a server or the built-in tools on or off, which takes a while. Returns lines about what is on now.

        Raises SpecchatError if a server cannot be started.
        """
        toolbox, left_out = self.opened(), list[str]()
        if on:
            left_out = [f"{line}: it is left out." for line in toolbox.turn_on(name)]
        else:
            toolbox.turn_off(name)
        return [*left_out, *toolbox.summary_lines(name)]

    def allow_file(self, path: Path) -> str:
        """Lets the model read a file in this conversation, with the built-in tool for it. Says so.

        Raises SpecchatError if it cannot be read.
        """
        from specchat.tools.builtin import named_file
        from specchat.tools.toolbox import BUILT_IN

        self.files = tuple(dict.fromkeys((*self.files, named_file(path))))
        self.opened().turn_on(BUILT_IN)
        return f"the model may read {clean_line(path.name)} in this chat"

    def guide_note(self, target: Path) -> str:
        """Says once that the built-in guide does not get the tools that are on; empty otherwise."""
        if self._said_no_calls or not self.num_on or not is_guide(target):
            return ""
        self._said_no_calls = True
        return NO_CALLS

    def forget(self) -> None:
        """Allows nothing any more, because another conversation begins."""
        self._consent, self.files = Consent(), ()
        if self._toolbox is not None:
            self._toolbox.use_files(())

    def stop(self) -> None:
        """Stops the server that starts, from any thread."""
        if self._toolbox is not None:
            self._toolbox.stop()

    def close(self) -> None:
        """Ends all servers."""
        if self._toolbox is not None:
            self._toolbox.close()


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
