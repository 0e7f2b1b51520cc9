"""The common part of the shapes of OpenAI's two older APIs: an object with choices, and chunks of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from specchat.engine_process.protocol import Generate
from specchat.serve.answers.deltas import AnswerSoFar, Delta
from specchat.serve.answers.figures import usage
from specchat.serve.answers.shape import DONE, Shape, event
from specchat.serve.api_errors import ApiError
from specchat.serve.requests.base import Sampling


class ChoicesShape(Shape):
    """Writes an object of the kind `whole_kind`, or chunks of the kind `chunk_kind`, each with the ids' `prefix`."""

    prefix: ClassVar[str]
    whole_kind: ClassVar[str]
    chunk_kind: ClassVar[str]

    def __init__(self, body: Sampling, requests: Sequence[Generate], model: str) -> None:
        super().__init__(body, requests, model, self.prefix)

    @abstractmethod
    def choice(self, number: int, answer: AnswerSoFar) -> dict[str, Any]:
        """One complete answer."""

    def usage(self) -> dict[str, Any]:
        """The tokens of all answers and of their prompts."""
        return usage(self.figures, predicts=any(request.prediction for request in self.requests))

    def end(self) -> Iterable[bytes]:
        """The usage, if it was asked for, and the end of the stream."""
        if self.body.sends_usage:
            yield self.chunk([], {"usage": self.usage()} | self.report())
        yield DONE

    def failed(self, error: ApiError) -> bytes:
        """The error as an event."""
        return event(error.openai())

    def whole(self) -> dict[str, Any]:
        """All answers in one object."""
        return {
            **self._head(self.whole_kind),
            "choices": [self.choice(number, answer) for number, answer in enumerate(self.answers)],
            "usage": self.usage(),
            **self.report(),
            **self.own((line for answer in self.answers for line in answer.lines), range(len(self.answers))),
        }

    def chunk(self, choices: list[dict[str, Any]], more: dict[str, Any]) -> bytes:
        """A chunk as an event. Those before the last have an empty usage, if it was asked for."""
        head = self._head(self.chunk_kind) | {"choices": choices}
        return event(head | ({"usage": None} if self.body.sends_usage else {}) | more)

    def progress(self, delta: Delta) -> dict[str, Any]:
        """The figures so far; at the end of a stream without usage, all of them."""
        if delta.finish is not None and not self.body.sends_usage:
            return self.report()
        return {"timings": self.figures[0].timings()} if self.body.sends_progress and len(self.figures) == 1 else {}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}
