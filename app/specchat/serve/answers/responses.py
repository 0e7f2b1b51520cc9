"""Answers in the shape of OpenAI's newer API: a response is a list of items, and a stream shows how they grow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from specchat.engine_process.protocol import Generate
from specchat.serve.answers.deltas import Delta
from specchat.serve.answers.shape import Shape, event
from specchat.serve.api_errors import ApiError
from specchat.serve.requests.responses import ResponsesRequest
from specchat_engine.answers.parts import AnswerPart, PartKind

Item = dict[str, Any]

_PART_OF = {"message": "output_text", "reasoning": "reasoning_text"}


class ResponsesShape(Shape):
    """Writes `response` and the events of its stream. An item is open while the model writes it."""

    def __init__(self, body: ResponsesRequest, requests: Sequence[Generate], model: str) -> None:
        super().__init__(body, requests, model, "resp_")
        self._echoed = body.echoed()
        self._items: list[Item] = []
        self._is_open = False
        self._number = 0

    def events(self, number: int, delta: Delta) -> Iterable[bytes]:
        """The changes of a delta: items begin, grow and end."""
        if delta.started:
            yield self._event("response.created", response=self._response("in_progress"))
            yield self._event("response.in_progress", response=self._response("in_progress"))
        for part in delta.parts:
            yield from self._grown(part)
        if trace := self.own([delta.line]):
            yield self._event("specchat.trace", **trace["specchat"])

    def end(self) -> Iterable[bytes]:
        """The end of the last item, and the whole response."""
        yield from self._closed()
        status = self._status()
        yield self._event(f"response.{status}", response=self._response(status))

    def failed(self, error: ApiError) -> bytes:
        """The response as it was when it failed."""
        failed = {"code": error.code or "server_error", "message": str(error)}
        return self._event("response.failed", response=self._response("failed") | {"error": failed})

    def whole(self) -> dict[str, Any]:
        """The object `response`."""
        (answer,) = self.answers
        parts = [AnswerPart(PartKind.REASONING, answer.reasoning)] if answer.reasoning else []
        parts += [AnswerPart(PartKind.CONTENT, answer.content)] if answer.content or not answer.calls else []
        for call in answer.calls:
            parts += [AnswerPart(PartKind.CALL, call.name), AnswerPart(PartKind.ARGUMENTS, call.arguments)]
        for part in parts:
            for _ in self._grown(part):
                pass
        for _ in self._closed():
            pass
        return self._response(self._status()) | self.own(answer.lines, (0,))

    def _grown(self, part: AnswerPart) -> Iterator[bytes]:
        """Adds a part to the item that it belongs to, which may begin with it."""
        match part.kind:
            case PartKind.CONTENT:
                yield from self._more_text("message", part.text)
            case PartKind.REASONING:
                yield from self._more_text("reasoning", part.text)
            case PartKind.CALL:
                identity = f"call_{self.id.removeprefix('resp_')}_{len(self._items)}"
                yield from self._opened(
                    {"type": "function_call", "call_id": identity, "name": part.text, "arguments": ""}
                )
            case PartKind.ARGUMENTS:
                self._items[-1]["arguments"] += part.text
                yield self._of_item("response.function_call_arguments.delta", delta=part.text)

    def _more_text(self, kind: str, text: str) -> Iterator[bytes]:
        if not (self._is_open and self._items[-1]["type"] == kind):
            role: Item = {"role": "assistant"} if kind == "message" else {"summary": []}
            yield from self._opened({"type": kind, **role, "content": [_part(kind, "")]})
            yield self._of_item("response.content_part.added", content_index=0, part=_part(kind, ""))
        self._items[-1]["content"][0]["text"] += text
        yield self._of_item(f"response.{_PART_OF[kind]}.delta", content_index=0, delta=text, **_no_logprobs(kind))

    def _opened(self, item: Item) -> Iterator[bytes]:
        yield from self._closed()
        prefix = {"message": "msg", "reasoning": "rs"}.get(item["type"], "fc")
        identity = f"{prefix}_{self.id.removeprefix('resp_')}_{len(self._items)}"
        self._items.append({"id": identity, "status": "in_progress"} | item)
        self._is_open = True
        empty: Item = {"content": []} if "content" in item else {}
        yield self._event("response.output_item.added", output_index=self._place, item=self._items[-1] | empty)

    def _closed(self) -> Iterator[bytes]:
        """Ends the open item, if there is one."""
        if not self._is_open:
            return
        self._is_open = False
        item = self._items[-1]
        kind = item["type"]
        if kind == "function_call":
            arguments = {"name": item["name"], "arguments": item["arguments"]}
            yield self._of_item("response.function_call_arguments.done", **arguments)
        else:
            part = item["content"][0]
            done = f"response.{_PART_OF[kind]}.done"
            yield self._of_item(done, content_index=0, text=part["text"], **_no_logprobs(kind))
            yield self._of_item("response.content_part.done", content_index=0, part=part)
        item["status"] = "completed"
        yield self._event("response.output_item.done", output_index=self._place, item=item)

    @property
    def _place(self) -> int:
        return len(self._items) - 1

    def _status(self) -> str:
        return "incomplete" if self.answers[0].finish == "length" else "completed"

    def _response(self, status: str) -> dict[str, Any]:
        complete = status in ("completed", "incomplete")
        return self._echoed | {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "model": self.model,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
            "output": self._items if complete else [],
            "usage": self._usage() if complete else None,
            **(self.report() | self.own((), (0,)) if complete else {}),
        }

    def _usage(self) -> dict[str, Any]:
        (figures,) = self.figures
        return {
            "input_tokens": figures.prompt_tokens,
            "input_tokens_details": {"cached_tokens": figures.cached_tokens},
            "output_tokens": figures.num_tokens,
            "output_tokens_details": {"reasoning_tokens": figures.reasoning_tokens},
            "total_tokens": figures.prompt_tokens + figures.num_tokens,
        }

    def _of_item(self, kind: str, **data: Any) -> bytes:
        return self._event(kind, item_id=self._items[-1]["id"], output_index=self._place, **data)

    def _event(self, kind: str, **data: Any) -> bytes:
        number, self._number = self._number, self._number + 1
        return event({"type": kind, "sequence_number": number, **data}, kind)


def _part(kind: str, text: str) -> dict[str, Any]:
    more: Item = {"annotations": [], "logprobs": []} if kind == "message" else {}
    return {"type": _PART_OF[kind], "text": text, **more}


def _no_logprobs(kind: str) -> dict[str, Any]:
    return {"logprobs": []} if kind == "message" else {}
