"""Shell commands in the plain chat: each is confirmed by a line with an exclamation mark alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

from specchat.plain.paper import Paper
from specchat.terminal.process import stops_on_interrupt
from specchat.terminal.shell import CommandOutput, ShellCommand


class PlainShell:
    """Runs commands and keeps their outputs for the next message."""

    def __init__(self, paper: Paper) -> None:
        self._paper = paper
        self._waiting = ""
        self._outputs: list[CommandOutput] = []

    async def take(self, command: str) -> None:
        """Asks before a command runs. An empty one confirms the command before it."""
        if command:
            self._waiting = command
            self._paper.say(f"This runs in {Path.cwd()}: {command}. A line with only ! runs it.")
            return
        command, self._waiting = self._waiting, ""
        if command:
            await self._run(command)
        else:
            self._paper.say("Name the command, such as !ls; !! begins a message with an exclamation mark.")

    def take_outputs(self) -> tuple[CommandOutput, ...]:
        """Removes and returns the outputs for the next message."""
        outputs, self._outputs = tuple(self._outputs), []
        return outputs

    async def _run(self, command: str) -> None:
        self._paper.say("Ctrl+C stops it.")
        try:
            output = await _run_until_interrupt(command)
        except OSError as error:
            self._paper.say(f"It cannot be run: {error.strerror or error}.")
            return
        for line in output.text.splitlines():
            self._paper.say(line)
        self._paper.say(f"{output.ending}; the next message takes the output along.")
        self._outputs.append(output)


async def _run_until_interrupt(command: str) -> CommandOutput:
    """Runs a command until it ends, or until Ctrl+C."""
    started, loop = ShellCommand(command, Path.cwd()), asyncio.get_running_loop()

    def stop() -> None:
        loop.call_soon_threadsafe(started.stop)

    with stops_on_interrupt(stop):
        return await started.run()
