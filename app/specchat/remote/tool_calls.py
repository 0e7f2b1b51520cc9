"""The calls of one answer of a server: put together from their pieces, and as a text as models write them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from specchat.engine_process.protocol import call_id
from specchat.remote.chunks import CallPiece, Chunk, Token
from specchat_engine.answers.notations import HERMES
from specchat_engine.prompt.messages import ToolCall

_OPENING, _CLOSING = HERMES.head[0], HERMES.tail[0]
_MARK = _OPENING.partition("{")[0]


@dataclass(slots=True)
class _Call:
    name: str
    arguments: str = ""


class RemoteCalls:
    """Collects calls. What has come of them is part of the answer's text, so that it is shown while it arrives."""

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}

    def written(self, chunk: Chunk) -> Chunk:
        """The same chunk with its pieces of calls in its content."""
        text = "".join(map(self._written, chunk.calls))
        if chunk.finish and self._calls:
            text += _CLOSING
        if not text:
            return chunk
        tokens: Sequence[Token] = chunk.tokens
        if tokens:
            *others, last = tokens
            tokens = (*others, last._replace(text=last.text + text))
        return replace(chunk, content=chunk.content + text, tokens=tuple(tokens))

    def made(self, turn: int) -> tuple[ToolCall, ...]:
        """The calls, with ids that differ within the turns of a seed."""
        return tuple(
            ToolCall(call.name, call.arguments or "{}", call_id(turn, number))
            for number, call in enumerate(self._calls.values())
        )

    @staticmethod
    def beside(text: str) -> str:
        """What an answer says before its calls."""
        return text.partition(_MARK)[0].rstrip()

    def _written(self, piece: CallPiece) -> str:
        call = self._calls.get(piece.number)
        text = ""
        if call is None:
            text = f"{_CLOSING}\n" if self._calls else ""
            call = self._calls[piece.number] = _Call(piece.name)
            text += _OPENING % {"json": json.dumps(piece.name)}
        call.arguments += piece.arguments
        return text + piece.arguments
