"""Answers in the shape of OpenAI's chat API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from specchat.engine_process.protocol import LikelyToken, Position
from specchat.serve.answers.choices import ChoicesShape
from specchat.serve.answers.deltas import AnswerSoFar, Delta
from specchat_engine.answers.parts import AnswerPart, PartKind


class ChatShape(ChoicesShape):
    """Writes `chat.completion` and its chunks. A round makes one chunk, whatever is in it."""

    prefix = "chatcmpl-"
    whole_kind = "chat.completion"
    chunk_kind = "chat.completion.chunk"

    def events(self, number: int, delta: Delta) -> Iterable[bytes]:
        """One chunk, if there is something to send."""
        change = self._change(number, delta.parts)
        if delta.started:
            change = {"role": "assistant", "content": ""} | change
        more = self.own([delta.line], [number] if delta.finish else ()) | self.progress(delta)
        if change or more or delta.positions or delta.finish:
            choice = {"index": number, "delta": change, "logprobs": self._logprobs(delta.positions)}
            yield self.chunk([choice | {"finish_reason": delta.finish}], more)

    def choice(self, number: int, answer: AnswerSoFar) -> dict[str, Any]:
        """The message of one answer."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.content or (None if answer.calls else "")}
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        if answer.calls:
            message["tool_calls"] = [
                {
                    "id": self._call_id(number, index),
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for index, call in enumerate(answer.calls)
            ]
        logprobs = self._logprobs(answer.positions)
        return {"index": number, "message": message, "logprobs": logprobs, "finish_reason": answer.finish}

    def _change(self, number: int, parts: Sequence[AnswerPart]) -> dict[str, Any]:
        """Returns the change of a message by these parts; parts of one kind are joined."""
        change: dict[str, Any] = {}
        calls: dict[int, dict[str, Any]] = {}
        index = len(self.answers[number].calls) - sum(part.kind is PartKind.CALL for part in parts) - 1
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
        return f"call_{self.id.removeprefix(self.prefix)}_{number}_{index}"

    def _logprobs(self, positions: Sequence[Position]) -> dict[str, Any] | None:
        if self.requests[0].logprobs is None:
            return None
        return {"content": [_position(position) for position in positions], "refusal": None}


def _position(position: Position) -> dict[str, Any]:
    return _token(position.token) | {"top_logprobs": [_token(token) for token in position.likeliest]}


def _token(token: LikelyToken) -> dict[str, Any]:
    return {"token": token.text, "logprob": token.logprob, "bytes": [*token.octets]}
