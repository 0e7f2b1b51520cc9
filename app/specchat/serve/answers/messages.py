"""Answers in the shape of Anthropic's API: a message is a list of blocks, and a stream shows how they grow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from specchat.engine_process.protocol import Generate
from specchat.serve.answers.deltas import Delta
from specchat.serve.answers.shape import Shape, event
from specchat.serve.api_errors import ApiError
from specchat.serve.requests.base import Sampling
from specchat_engine.answers.parts import AnswerPart, PartKind

_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


class MessagesShape(Shape):
    """Writes `message` and the events of its stream. A block is open while the model writes it."""

    def __init__(self, body: Sampling, requests: Sequence[Generate], model: str) -> None:
        super().__init__(body, requests, model, "msg_")
        self._open = ""
        self._index = -1
        self._calls = 0

    def events(self, number: int, delta: Delta) -> Iterable[bytes]:
        """The changes of a delta: blocks begin, grow and end."""
        if delta.started:
            yield event({"type": "message_start", "message": self._message([], self._usage())}, "message_start")
        for part in delta.parts:
            yield from self._grown(part)
        if trace := self.own([delta.line]):
            yield event({"type": "ping"} | trace, "ping")

    def end(self) -> Iterable[bytes]:
        """The end of the last block, why the message ended, and its usage."""
        yield from self._closed()
        change = {"type": "message_delta", "delta": self._reason(), "usage": self._usage()}
        yield event(change | self.report() | self.own((), (0,)), "message_delta")
        yield event({"type": "message_stop"}, "message_stop")

    def failed(self, error: ApiError) -> bytes:
        """The error as an event."""
        return event(error.anthropic(), "error")

    def whole(self) -> dict[str, Any]:
        """The object `message`."""
        (answer,) = self.answers
        blocks: list[dict[str, Any]] = []
        if answer.reasoning:
            blocks.append({"type": "thinking", "thinking": answer.reasoning, "signature": ""})
        if answer.content or not (answer.calls or answer.reasoning):
            blocks.append({"type": "text", "text": answer.content})
        for index, call in enumerate(answer.calls):
            blocks.append(self._call(index, call.name) | {"input": _object(call.arguments)})
        return self._message(blocks, self._usage()) | self._reason() | self.report() | self.own(answer.lines, (0,))

    def _grown(self, part: AnswerPart) -> Iterator[bytes]:
        """Adds a part to the block that it belongs to, which may begin with it."""
        match part.kind:
            case PartKind.CONTENT:
                yield from self._opened("text", {"type": "text", "text": ""})
                yield self._change({"type": "text_delta", "text": part.text})
            case PartKind.REASONING:
                yield from self._opened("thinking", {"type": "thinking", "thinking": "", "signature": ""})
                yield self._change({"type": "thinking_delta", "thinking": part.text})
            case PartKind.CALL:
                index, self._calls = self._calls, self._calls + 1
                yield from self._opened(f"call {index}", self._call(index, part.text) | {"input": {}})
            case PartKind.ARGUMENTS:
                yield self._change({"type": "input_json_delta", "partial_json": part.text})

    def _opened(self, kind: str, block: dict[str, Any]) -> Iterator[bytes]:
        """Begins a block, unless one of its kind is open."""
        if self._open == kind:
            return
        yield from self._closed()
        self._open, self._index = kind, self._index + 1
        start = {"type": "content_block_start", "index": self._index, "content_block": block}
        yield event(start, "content_block_start")

    def _closed(self) -> Iterator[bytes]:
        """Ends the open block, if there is one."""
        if self._open:
            self._open = ""
            yield event({"type": "content_block_stop", "index": self._index}, "content_block_stop")

    def _change(self, delta: dict[str, Any]) -> bytes:
        change = {"type": "content_block_delta", "index": self._index, "delta": delta}
        return event(change, "content_block_delta")

    def _call(self, index: int, name: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": f"toolu_{self.id.removeprefix('msg_')}_{index}", "name": name}

    def _message(self, blocks: list[dict[str, Any]], usage: dict[str, int]) -> dict[str, Any]:
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": blocks,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }

    def _reason(self) -> dict[str, Any]:
        (answer,) = self.answers
        reason = "stop_sequence" if answer.stop is not None and answer.finish == "stop" else _REASONS[answer.finish]
        return {"stop_reason": reason, "stop_sequence": answer.stop}

    def _usage(self) -> dict[str, int]:
        (figures,) = self.figures
        return {
            "input_tokens": figures.prompt_tokens - figures.cached_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": figures.cached_tokens,
            "output_tokens": figures.num_tokens,
        }


def _object(arguments: str) -> dict[str, Any]:
    """Reads the arguments of a call; what isn't an object, as in an answer that was cut short, is kept as a text."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"arguments": arguments}
