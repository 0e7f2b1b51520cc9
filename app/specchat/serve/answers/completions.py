"""Answers in the shape of OpenAI's older API, which continues raw texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from specchat.serve.answers.deltas import Delta, Told
from specchat.serve.answers.events import DONE, event
from specchat.serve.answers.figures import usage
from specchat.serve.answers.shape import Shape
from specchat.serve.api_errors import ApiError
from specchat.serve.protocol import Begun, Position, Request
from specchat.serve.requests.asked import Asked

Logprobs = dict[str, list[Any]]


class CompletionShape(Shape):
    """Writes `text_completion` and its chunks. With `silent`, nothing but the prompt is told."""

    def __init__(self, asked: Asked, model: str, *, prompts: int, tells_tokens: bool, silent: bool) -> None:
        super().__init__(asked, model, "cmpl-")
        self._prompts = prompts
        self._tells_tokens = tells_tokens
        self._silent = silent
        self._offsets = [0] * len(asked.requests)

    def events(self, number: int, delta: Delta) -> Iterable[bytes]:
        """One chunk, if there is something to tell."""
        text, positions = "", [*delta.positions]
        first = delta.begun is not None and self.asked.requests[number].echo
        if self._silent:
            positions = []
        else:
            text = "".join(part.text for part in delta.parts)
        if delta.begun is not None and first:
            text, positions = prompt_text(self.asked.requests[number], delta.begun), [*delta.begun.prompt]
        told = self.rounds([delta.line]) | self._progress(delta)
        if text or told or positions or delta.finish:
            choice = {
                "index": number,
                "text": text,
                "logprobs": self._logprobs(positions, self._offsets[number], first=first),
                "finish_reason": delta.finish,
            }
            self._offsets[number] += sum(len(position.token.text) for position in positions)
            yield self._chunk([choice], told)

    def end(self) -> Iterable[bytes]:
        """The usage, if it was asked for, and the end of the stream."""
        if self.asked.usage:
            yield self._chunk([], {"usage": self._usage()} | self.report())
        yield DONE

    def failed(self, error: ApiError) -> bytes:
        """The error as an event."""
        return event(error.openai())

    def whole(self) -> dict[str, Any]:
        """The object `text_completion`."""
        return {
            "id": self.id,
            "object": "text_completion",
            "created": self.created,
            "model": self.model,
            "choices": [self._choice(number, told) for number, told in enumerate(self.told)],
            "usage": self._usage(),
            **self.report(),
            **self.rounds(line for told in self.told for line in told.lines),
        }

    def _choice(self, number: int, told: Told) -> dict[str, Any]:
        request, begun = self.asked.requests[number], told.begun
        text, positions = ("", []) if self._silent else (told.content, told.positions)
        if request.echo and begun:
            text, positions = prompt_text(request, begun) + text, [*begun.prompt, *positions]
        logprobs = self._logprobs(positions, 0, first=request.echo)
        return {"index": number, "text": text, "logprobs": logprobs, "finish_reason": told.finish}

    def _logprobs(self, positions: Sequence[Position], offset: int, *, first: bool) -> Logprobs | None:
        """Four lists over the tokens. With `first`, nothing comes before the first token, so it has no probability."""
        if not self._tells_tokens:
            return None
        told: Logprobs = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
        for place, position in enumerate(positions):
            unknown = first and place == 0
            likeliest = {token.text: token.logprob for token in (position.token, *position.likeliest)}
            told["tokens"].append(position.token.text)
            told["token_logprobs"].append(None if unknown else position.token.logprob)
            told["top_logprobs"].append(None if unknown else likeliest)
            told["text_offset"].append(offset)
            offset += len(position.token.text)
        return told

    def _usage(self) -> dict[str, Any]:
        told = usage(self.figures, predicts=False, prompts=self._prompts)
        return told | {"completion_tokens": 0, "total_tokens": told["prompt_tokens"]} if self._silent else told

    def _progress(self, delta: Delta) -> dict[str, Any]:
        if delta.finish is not None and not self.asked.usage:
            return self.report()
        return {"timings": self.figures[0].timings()} if self.asked.progress and len(self.figures) == 1 else {}

    def _chunk(self, choices: list[dict[str, Any]], more: dict[str, Any]) -> bytes:
        chunk = {"id": self.id, "object": "text_completion", "created": self.created, "model": self.model}
        return event(chunk | {"choices": choices} | ({"usage": None} if self.asked.usage else {}) | more)


def prompt_text(request: Request, begun: Begun) -> str:
    """The text of a raw prompt, that of its tokens if it was given as ids."""
    if isinstance(request.prompt, str):
        return request.prompt
    return "".join(position.token.text for position in begun.prompt)
