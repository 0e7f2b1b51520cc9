"""Tools in the plain chat: they are turned on by a command, and each call is asked about on a line of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from specchat.chat.session import ChatSession
from specchat.chat.tool_turn import ToolTurn
from specchat.engine_process.protocol import Loaded, Offer
from specchat.errors import SpecchatError
from specchat.plain.paper import Paper
from specchat.store.records import StoredMessage
from specchat.terminal.filter import clean_line
from specchat.terminal.process import stops_on_interrupt
from specchat.tools.builtin import named_file
from specchat.tools.consent import Consent, Verdict
from specchat.tools.declared import read_servers
from specchat.tools.tool import Tool, ToolResult
from specchat.tools.toolbox import BUILT_IN, Toolbox
from specchat_engine.answers.parser import AnswerParser
from specchat_engine.answers.parts import AnswerPart, PartKind
from specchat_engine.prompt.messages import ToolCall

_LONGEST = 300
"""Characters of a result that are read out."""

_LONGEST_ASKED = 4000
"""Characters of arguments that are read out before a call: nobody should allow what they have not seen."""

_VERDICTS = {"o": Verdict.ONCE, "once": Verdict.ONCE, "a": Verdict.ALWAYS, "always": Verdict.ALWAYS}


class PlainTools:
    """The tools of one chat, and what the user allowed."""

    def __init__(self, paper: Paper, source: TextIO) -> None:
        """`source` is where the user answers. Nobody is asked, and nothing allowed, if it is no terminal."""
        self._paper = paper
        self._source = source
        self._consent = Consent()
        self._toolbox: Toolbox | None = None
        self._files: tuple[Path, ...] = ()

    def turn(self) -> ToolTurn:
        """The calls of one turn."""
        return ToolTurn(self._toolbox or Toolbox(), self._consent, self._ask)

    def use(self, name: str, *, on: bool) -> None:
        """Turns a server or the built-in tools on or off, or tells all if no name is given."""
        try:
            toolbox = self._opened()
            if name and on:
                with stops_on_interrupt(toolbox.stop):
                    refused = toolbox.turn_on(name)
                for line in refused:
                    self._paper.say(f"{line}: it is left out.")
            elif name:
                toolbox.turn_off(name)
        except SpecchatError as error:
            self._paper.say(str(error))
            return
        for line in toolbox.told(name):
            self._paper.say(line)

    def name_file(self, path: Path) -> None:
        """Lets the model read a file in this chat, with the built-in tool for it."""
        try:
            self._files = tuple(dict.fromkeys((*self._files, named_file(path))))
            self._opened().turn_on(BUILT_IN)
        except SpecchatError as error:
            self._paper.say(str(error))
        else:
            self._paper.say(f"The model may read {path.name} in this chat.")

    def ask_again(self) -> None:
        """Allows nothing any more: another chat begins."""
        self._consent, self._files = Consent(), ()
        if self._toolbox is not None:
            self._toolbox.use_files(self._files)

    def _opened(self) -> Toolbox:
        self._toolbox = self._toolbox or Toolbox(read_servers())
        self._toolbox.use_files(self._files)
        return self._toolbox

    def answered(self, session: ChatSession, turn: ToolTurn, calls: tuple[ToolCall, ...]) -> list[StoredMessage]:
        """Makes the calls of an answer and adds their results to the conversation."""
        with stops_on_interrupt(turn.stop):
            results = list(turn.results(calls))
        added = []
        for call, result in zip(calls, results, strict=True):
            self._paper.say(_told(call, result))
            kept = session.conversation.add_result(call, result.text, failed=result.failed, seconds=result.seconds)
            added.append(kept)
        return added

    def close(self) -> None:
        """Ends all servers."""
        if self._toolbox is not None:
            self._toolbox.close()

    def _ask(self, tool: Tool, call: ToolCall) -> Verdict:
        where = f" of {tool.server}" if tool.server else ""
        asked = f"The model calls {call.name}{where} with {_short(call.arguments, _LONGEST_ASKED)}."
        if not self._source.isatty():
            self._paper.say(f"{asked} It is not allowed, because nobody can be asked: the input is no terminal.")
            return Verdict.NO
        self._paper.say(f"{asked} Allow it once (o), always in this chat (a), or not (n)?")
        return _VERDICTS.get(self._source.readline().strip().lower(), Verdict.NO)


def _told(call: ToolCall, result: ToolResult) -> str:
    return f"{call.name} {'failed' if result.failed else 'returned'}: {_short(result.text)}"


def _short(text: str, longest: int = _LONGEST) -> str:
    line = clean_line(text[: 4 * longest])
    return line if len(line) <= longest else f"{line[:longest]}… ({len(text)} characters)"


class WholeText:
    """An answer as it is."""

    def feed(self, text: str) -> str:
        """The text itself."""
        return text

    def finish(self) -> str:
        """Nothing more."""
        return ""


class WithoutCalls:
    """An answer without its calls, which are told when it has ended, and without the tags around its reasoning."""

    def __init__(self, parser: AnswerParser) -> None:
        self._parser = parser

    def feed(self, text: str) -> str:
        """What is certain after this piece."""
        return _said(self._parser.feed(text))

    def finish(self) -> str:
        """The rest, once the answer has ended."""
        return _said(self._parser.finish())


def spoken_parts(
    loaded: Loaded | None, offer: Offer, start: Mapping[str, object] | None = None
) -> WholeText | WithoutCalls:
    """What is read out of an answer; `start` is the first line of its trace."""
    if loaded is None or not offer.functions:
        return WholeText()
    thinking = bool(start and start.get("opens_reasoning"))
    return WithoutCalls(AnswerParser(loaded.answer_format, offer.functions, thinking=thinking))


def _said(parts: Sequence[AnswerPart]) -> str:
    return "".join(part.text for part in parts if part.kind in (PartKind.REASONING, PartKind.CONTENT))
