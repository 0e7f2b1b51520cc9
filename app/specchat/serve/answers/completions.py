"""Answers in the shape of OpenAI's older API, which continues raw texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from specchat.engine_process.protocol import Generate, LikelyToken, Position, Started
from specchat.serve.answers.choices import ChoicesShape
from specchat.serve.answers.deltas import AnswerSoFar, Delta
from specchat.serve.answers.figures import usage
from specchat.serve.requests.completions import CompletionRequest

Logprobs = dict[str, list[Any]]


class CompletionShape(ChoicesShape):
    """Writes `text_completion` and its chunks. If no tokens are asked for, nothing but the prompt is sent."""

    prefix = "cmpl-"
    whole_kind = chunk_kind = "text_completion"

    def __init__(self, body: CompletionRequest, requests: Sequence[Generate], model: str) -> None:
        super().__init__(body, requests, model)
        self._prompts = len(body.prompts)
        self._sends_logprobs = body.sends_logprobs
        self._silent = body.max_tokens == 0
        self._offsets = [0] * len(requests)

    def events(self, number: int, delta: Delta) -> Iterable[bytes]:
        """One chunk, if there is something to send."""
        text, positions = "", [*delta.positions]
        first = delta.started is not None and self.requests[number].echo
        if self._silent:
            positions = []
        else:
            text = "".join(part.text for part in delta.parts)
        if delta.started is not None and first:
            text, positions = prompt_text(self.requests[number], delta.started), [*delta.started.prompt]
        more = self.own([delta.line], [number] if delta.finish else ()) | self.progress(delta)
        if text or more or positions or delta.finish:
            choice = {
                "index": number,
                "text": text,
                "logprobs": self._logprobs(positions, self._offsets[number], first=first),
                "finish_reason": delta.finish,
            }
            self._offsets[number] += sum(len(position.token.text) for position in positions)
            yield self.chunk([choice], more)

    def choice(self, number: int, answer: AnswerSoFar) -> dict[str, Any]:
        """The text of one answer, after its prompt if that is to be repeated."""
        request, started = self.requests[number], answer.started
        text, positions = ("", []) if self._silent else (answer.content, answer.positions)
        if request.echo and started:
            text, positions = prompt_text(request, started) + text, [*started.prompt, *positions]
        logprobs = self._logprobs(positions, 0, first=request.echo)
        return {"index": number, "text": text, "logprobs": logprobs, "finish_reason": answer.finish}

    def _logprobs(self, positions: Sequence[Position], offset: int, *, first: bool) -> Logprobs | None:
        """Four lists over the tokens. With `first`, nothing comes before the first token, so it has no probability."""
        if not self._sends_logprobs:
            return None
        logprobs: Logprobs = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
        for index, position in enumerate(positions):
            unknown = first and index == 0
            likeliest = {_key(token): token.logprob for token in (*position.likeliest, position.token)}
            logprobs["tokens"].append(position.token.text)
            logprobs["token_logprobs"].append(None if unknown else position.token.logprob)
            logprobs["top_logprobs"].append(None if unknown else likeliest)
            logprobs["text_offset"].append(offset)
            offset += len(position.token.text)
        return logprobs

    def usage(self) -> dict[str, Any]:
        """The tokens of all answers and of their prompts; a silent answer has none."""
        counts = usage(self.figures, predicts=False, prompts=self._prompts)
        silent = {"completion_tokens": 0, "total_tokens": counts["prompt_tokens"]}
        return counts | silent if self._silent else counts


def _key(token: LikelyToken) -> str:
    """The text of a token, or its bytes in OpenAI's notation if they are not text."""
    octets = bytes(token.octets)
    try:
        return octets.decode() or token.text
    except UnicodeError:
        return "bytes:" + "".join(f"\\x{octet:02x}" for octet in octets)


def prompt_text(request: Generate, started: Started) -> str:
    """The text of a raw prompt, that of its tokens if it was given as ids."""
    if isinstance(request.prompt, str):
        return request.prompt
    return "".join(position.token.text for position in started.prompt)
