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
    number: int | None = None
    id: str = ""


class RemoteCalls:
    """Collects calls. What has come of them is part of the answer's text, so that it is shown while it arrives."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []

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
            for number, call in enumerate(self._calls)
        )

    @staticmethod
    def beside(text: str) -> str:
        """What an answer says before its calls."""
        return text.partition(_MARK)[0].rstrip()

    def _written(self, piece: CallPiece) -> str:
        call = self._call_of(piece)
        text = ""
        if call is None:
            text = f"{_CLOSING}\n" if self._calls else ""
            call = _Call(piece.name, number=piece.number, id=piece.id)
            self._calls.append(call)
            text += _OPENING % {"json": json.dumps(piece.name)}
        call.arguments += piece.arguments
        return text + piece.arguments

    def _call_of(self, piece: CallPiece) -> _Call | None:
        """The call that a piece belongs to, None for a new one.

        Another id is another call: some servers give the same number to all. Without an id the number counts, and a
        piece with neither belongs to the last call, unless it begins one with a name.
        """
        if piece.id and (known := next((call for call in self._calls if call.id == piece.id), None)):
            return known
        if piece.number is None:
            return None if piece.id or piece.name or not self._calls else self._calls[-1]
        last = next((call for call in reversed(self._calls) if call.number == piece.number), None)
        return None if last and piece.id and last.id else last
