"""Tools in the plain chat: they are turned on by a command, and each call is asked about on a line of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from specchat.chat.controller import ChatController
from specchat.chat.tool_turn import ToolTurn
from specchat.plain.paper import Paper
from specchat.terminal.filter import clean_line
from specchat.terminal.process import stops_on_interrupt
from specchat.tools.consent import ConsentAnswer
from specchat.tools.tool import Tool, ToolResult
from specchat_engine.prompt.messages import ToolCall

_LONGEST = 300
"""Characters of a result that are read out."""

_LONGEST_ASKED = 4000
"""Characters of arguments that are read out before a call: nobody should allow what they have not seen."""

_VERDICTS = {
    "o": ConsentAnswer.ONCE,
    "once": ConsentAnswer.ONCE,
    "a": ConsentAnswer.ALWAYS,
    "always": ConsentAnswer.ALWAYS,
}


class PlainTools:
    """Asks for consent line by line, and says what calls give."""

    def __init__(self, chat: ChatController, paper: Paper, source: TextIO) -> None:
        """`source` is where the user answers. Nobody is asked, and nothing allowed, if it is not a terminal."""
        self._chat = chat
        self._paper = paper
        self._source = source

    def turn(self) -> ToolTurn | None:
        """The calls of one turn; None as long as no tool was turned on."""
        return self._chat.tools.turn(self._ask)

    def use(self, name: str, on: bool) -> None:
        """Turns a server or the built-in tools on or off, or lists all if no name is given."""
        tools = self._chat.tools
        if name:
            with stops_on_interrupt(tools.stop):
                lines = tools.turn_on_or_off(name, on=on)
        else:
            lines = [*tools.opened().summary_lines()]
        for line in lines:
            self._paper.say(line)
        self._say_no_calls()

    def allow_file(self, path: Path) -> None:
        """Lets the model read a file in this chat."""
        self._paper.say(self._chat.tools.allow_file(path))
        self._say_no_calls()

    def _say_no_calls(self) -> None:
        if note := self._chat.tools.guide_note(self._chat.session.options.target):
            self._paper.say(note)

    def answer(self, turn: ToolTurn, calls: tuple[ToolCall, ...]) -> None:
        """Makes the calls of an answer and adds their results to the conversation."""
        with stops_on_interrupt(turn.stop):
            results = list(turn.results(calls))
        for call, result in zip(calls, results, strict=True):
            self._paper.say(_outcome_line(call, result))
            self._chat.add_result(call, result)

    def _ask(self, tool: Tool, call: ToolCall) -> ConsentAnswer:
        where = f" of {tool.server}" if tool.server else ""
        question = f"The model calls {call.name}{where} with {_short(call.arguments, _LONGEST_ASKED)}."
        if not self._source.isatty():
            self._paper.say(f"{question} It is not allowed, because nobody can be asked: the input is not a terminal.")
            return ConsentAnswer.NO
        self._paper.say(f"{question} Allow it once (o), always in this chat (a), or not (n)?")
        return _VERDICTS.get(self._source.readline().strip().lower(), ConsentAnswer.NO)


def _outcome_line(call: ToolCall, result: ToolResult) -> str:
    return f"{call.name} {'failed' if result.failed else 'returned'}: {_short(result.text)}"


def _short(text: str, longest: int = _LONGEST) -> str:
    line = clean_line(text[: 4 * longest])
    return line if len(line) <= longest else f"{line[:longest]}… ({len(text)} characters)"
