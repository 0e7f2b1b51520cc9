"""Shell commands: they run when the user agrees, and their output goes with the next message."""

from __future__ import annotations

from pathlib import Path

from textual.screen import Screen

from specchat.chat.attachments import BYTES_A_TOKEN
from specchat.terminal.shell import MOST_BYTES, ShellCommand
from specchat.tools.consent import ConsentAnswer
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.transcript.command_entry import CommandEntry

_INTERVAL = 0.25
"""Seconds between two drawings of an output that grows."""


class ShellCommands:
    """Runs one command at a time."""

    def __init__(self, screen: Screen[None], state: ChatState, view: ChatView) -> None:
        self._screen = screen
        self._state = state
        self._view = view
        self._command: ShellCommand | None = None

    @property
    def running(self) -> bool:
        """Whether a command runs."""
        return self._command is not None

    def start(self, command: str) -> None:
        """Runs a command, after asking unless the user has agreed for this conversation."""
        if not command:
            self._view.note("name the command: !ls, for one; !! begins a message with an exclamation mark")
        elif self._command is not None:
            self._view.note("a command runs: Esc stops it first", passing=True)
        elif self._state.commands_allowed:
            self._begin(command)
        else:
            self._ask(command)

    def stop(self) -> None:
        """Stops the command, and what it started."""
        if self._command is not None:
            self._command.stop()
            self._view.note("stopping the command", passing=True)

    def kill(self) -> None:
        """Ends the command at once, because specchat ends."""
        if self._command is not None:
            self._command.kill()

    def _ask(self, command: str) -> None:
        from specchat.tui.screens.question import ConsentScreen

        def decided(verdict: ConsentAnswer | None) -> None:
            if verdict in (None, ConsentAnswer.NO):
                self._view.prompt.give_back(f"!{command}")
                return
            self._state.commands_allowed = verdict is ConsentAnswer.ALWAYS
            self._begin(command)

        server = self._state.session.server
        self._screen.app.push_screen(ConsentScreen(command, Path.cwd(), server.host if server else ""), decided)

    def _begin(self, command: str) -> None:
        loaded = self._state.session.loaded
        limit = min(MOST_BYTES, BYTES_A_TOKEN * loaded.n_ctx // 2) if loaded else MOST_BYTES
        self._command = ShellCommand(command, Path.cwd(), limit)
        self._screen.run_worker(self._run(self._command), group="shell command")
        self._screen.refresh_bindings()

    async def _run(self, command: ShellCommand) -> None:
        entry, conversation = CommandEntry(command.command), self._state.session.conversation
        self._view.transcript.add(entry, follow=True)
        drawn = self._screen.set_interval(_INTERVAL, lambda: entry.show(command.text, "runs; Esc stops it"))
        try:
            output = await command.run()
        except OSError as error:
            entry.show("", f"cannot be run: {error.strerror or error}")
        else:
            entry.finish(output)
            if self._state.session.conversation is conversation:
                self._state.outbox.attach(output)
                self._view.show_outbox()
        finally:
            drawn.stop()
            self._command = None
            self._view.end_passing()
            self._screen.refresh_bindings()
