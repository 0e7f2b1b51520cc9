"""What goes out later: messages that wait for the end of an answer, and outputs of commands for the next message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specchat.chat.history import HistoryEntry
from specchat.store.images import StoredImage
from specchat.terminal.blocks import cut
from specchat.terminal.fences import fenced
from specchat.terminal.filter import clean_line
from specchat.terminal.shell import CommandOutput

_MOST_OF_NAME = 30


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A message with images and the outputs of commands: its text, as the transcript shows it, and what was typed."""

    typed_text: str
    typed: str
    entry: HistoryEntry
    outputs: tuple[CommandOutput, ...] = ()
    images: tuple[StoredImage, ...] = ()

    @property
    def text(self) -> str:
        """The message for the model, followed by the outputs."""
        return with_outputs(self.typed_text, self.outputs)

    @property
    def shown(self) -> str:
        """The message for the transcript, with a line for each output."""
        named = (f"\n[{named_output(output)}]" for output in self.outputs)
        return self.typed + "".join(named)


class Outbox:
    """Messages in the order in which they will be sent, and `outputs` that go with the next message.

    A `held` queue waits for the user.
    """

    def __init__(self) -> None:
        self._messages: list[QueuedMessage] = []
        self._outputs: list[CommandOutput] = []
        self._held = False

    @property
    def messages(self) -> tuple[QueuedMessage, ...]:
        """The messages, the next one first."""
        return tuple(self._messages)

    @property
    def outputs(self) -> tuple[CommandOutput, ...]:
        """The outputs for the next message."""
        return tuple(self._outputs)

    @property
    def held(self) -> bool:
        """Whether the messages wait for the user, because an answer was stopped or failed."""
        return self._held

    def attach(self, output: CommandOutput) -> None:
        """Adds an output to the next message."""
        self._outputs.append(output)

    def give_back(self, outputs: Sequence[CommandOutput]) -> None:
        """Adds the outputs of a message that was not answered to the next one."""
        self._outputs = [*outputs, *self._outputs]

    def take_outputs(self) -> tuple[CommandOutput, ...]:
        """Removes and returns the outputs for the next message."""
        outputs, self._outputs = tuple(self._outputs), []
        return outputs

    def drop_output(self) -> CommandOutput | None:
        """Removes and returns the last output; None if there is none."""
        return self._outputs.pop() if self._outputs else None

    def add(self, message: QueuedMessage) -> None:
        """Adds a message at the end."""
        self._messages.append(message)

    def next(self) -> QueuedMessage | None:
        """Removes and returns the first message; None if there is none. The queue is no longer held."""
        self._held = False
        return self._messages.pop(0) if self._messages else None

    def take_back(self) -> QueuedMessage | None:
        """Removes and returns the last message, whose outputs are for the next one again; None if there is none."""
        message = self._messages.pop() if self._messages else None
        self._held &= bool(self._messages)
        if message is not None:
            self.give_back(message.outputs)
        return message

    def hold(self) -> None:
        """Keeps the messages that there are until the user sends them."""
        self._held = bool(self._messages)

    def clear(self) -> int:
        """Removes everything and returns how many messages there were."""
        count = len(self._messages)
        self._messages, self._outputs, self._held = [], [], False
        return count


def named_output(output: CommandOutput) -> str:
    """`output of make test: exit code 1, 34 lines`."""
    lines = f"{output.num_lines} line{'' if output.num_lines == 1 else 's'}"
    return f"output of {cut(clean_line(output.command), _MOST_OF_NAME)}: {output.ending}, {lines}"


def with_outputs(message: str, outputs: Sequence[CommandOutput]) -> str:
    """The message followed by each output in a code block."""
    return message + "".join(
        f"\n\nOutput of `{clean_line(output.command)}` ({output.ending}):\n\n{fenced(output.text)}"
        for output in outputs
    )
