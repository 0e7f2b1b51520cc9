"""Answers in the shape of OpenAI's chat API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from specchat.serve.answers.deltas import Delta, Told
from specchat.serve.answers.events import DONE, event
from specchat.serve.answers.figures import usage
from specchat.serve.answers.shape import Shape
from specchat.serve.api_errors import ApiError
from specchat.serve.protocol import LikelyToken, Position
from specchat.serve.requests.asked import Asked
from specchat_engine.answers.parts import AnswerPart, PartKind


class ChatShape(Shape):
    """Writes `chat.completion` and its chunks. A round makes one chunk, whatever is in it."""

    def __init__(self, asked: Asked, model: str) -> None:
        super().__init__(asked, model, "chatcmpl-")

    def events(self, number: int, delta: Delta) -> Iterable[bytes]:
        """One chunk, if there is something to tell."""
        change = self._change(number, delta.parts)
        if delta.begun:
            change = {"role": "assistant", "content": ""} | change
        told = self.rounds([delta.line]) | self._progress(delta)
        if change or told or delta.positions or delta.finish:
            choice = {"index": number, "delta": change, "logprobs": self._logprobs(delta.positions)}
            yield self._chunk([choice | {"finish_reason": delta.finish}], told)

    def end(self) -> Iterable[bytes]:
        """The usage, if it was asked for, and the end of the stream."""
        if self.asked.usage:
            figures = {"usage": usage(self.figures, predicts=self.asked.predicts)}
            yield self._chunk([], figures | self.report())
        yield DONE

    def failed(self, error: ApiError) -> bytes:
        """The error as an event."""
        return event(error.openai())

    def whole(self) -> dict[str, Any]:
        """The object `chat.completion`."""
        return {
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [self._choice(number, told) for number, told in enumerate(self.told)],
            "usage": usage(self.figures, predicts=self.asked.predicts),
            **self.report(),
            **self.rounds(line for told in self.told for line in told.lines),
        }

    def _choice(self, number: int, told: Told) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": told.content or (None if told.calls else "")}
        if told.reasoning:
            message["reasoning_content"] = told.reasoning
        if told.calls:
            message["tool_calls"] = [
                {
                    "id": self._call_id(number, index),
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for index, call in enumerate(told.calls)
            ]
        logprobs = self._logprobs(told.positions)
        return {"index": number, "message": message, "logprobs": logprobs, "finish_reason": told.finish}

    def _change(self, number: int, parts: Sequence[AnswerPart]) -> dict[str, Any]:
        """What parts add to a message; those of one kind are joined."""
        change: dict[str, Any] = {}
        calls: dict[int, dict[str, Any]] = {}
        index = len(self.told[number].calls) - sum(part.kind is PartKind.CALL for part in parts) - 1
        for part in parts:
            match part.kind:
                case PartKind.CONTENT:
                    change["content"] = change.get("content", "") + part.text
                case PartKind.REASONING:
                    change["reasoning_content"] = change.get("reasoning_content", "") + part.text
                case PartKind.CALL:
                    index += 1
                    function = {"name": part.text, "arguments": ""}
                    identity = self._call_id(number, index)
                    calls[index] = {"index": index, "id": identity, "type": "function", "function": function}
                case PartKind.ARGUMENTS:
                    call = calls.setdefault(index, {"index": index, "function": {"arguments": ""}})
                    call["function"]["arguments"] += part.text
        return change | ({"tool_calls": [*calls.values()]} if calls else {})

    def _call_id(self, number: int, index: int) -> str:
        return f"call_{self.id.removeprefix('chatcmpl-')}_{number}_{index}"

    def _progress(self, delta: Delta) -> dict[str, Any]:
        """The figures so far; at the end of a stream without usage, all of them."""
        last = delta.finish is not None and not self.asked.usage
        if last:
            return self.report()
        return {"timings": self.figures[0].timings()} if self.asked.progress and len(self.figures) == 1 else {}

    def _chunk(self, choices: list[dict[str, Any]], more: dict[str, Any]) -> bytes:
        chunk = {"id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model}
        return event(chunk | {"choices": choices} | ({"usage": None} if self.asked.usage else {}) | more)

    def _logprobs(self, positions: Sequence[Position]) -> dict[str, Any] | None:
        if self.asked.requests[0].logprobs is None:
            return None
        return {"content": [_position(position) for position in positions], "refusal": None}


def _position(position: Position) -> dict[str, Any]:
    return _token(position.token) | {"top_logprobs": [_token(token) for token in position.likeliest]}


def _token(token: LikelyToken) -> dict[str, Any]:
    return {"token": token.text, "logprob": token.logprob, "bytes": [*token.text.encode("utf-8", "replace")]}
