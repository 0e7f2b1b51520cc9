"""Requests of OpenAI's older API: POST /v1/completions continues a raw text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from specchat.engine_process.protocol import Generate
from specchat.serve.api_errors import bad
from specchat.serve.requests.base import MAX_CHOICES, ModelOffer, OpenaiSampling
from specchat.serve.requests.formats import ResponseFormat

USUAL_TOKENS = 16
"""The length of an answer where the request says nothing, as in OpenAI's API."""


class CompletionRequest(OpenaiSampling):
    """Prompts to be continued: texts, or lists of token ids."""

    prompt: str | list[str] | list[int] | list[list[int]]
    suffix: str | None = None
    max_tokens: int | None = Field(default=None, ge=-1, lt=2**31)
    logprobs: int | None = Field(default=None, ge=0, le=20)
    echo: bool | None = None
    response_format: ResponseFormat | None = None

    @property
    def prompts(self) -> list[str | tuple[int, ...]]:
        """The prompts, each a text or token ids. Raises ApiError for an id that cannot be one."""
        prompt = self.prompt
        if isinstance(prompt, str):
            return [prompt]
        if prompt and isinstance(prompt[0], int):
            return [_ids(prompt)]
        return [each if isinstance(each, str) else _ids(each) for each in prompt if not isinstance(each, int)]

    @property
    def sends_logprobs(self) -> bool:
        """True if the log-probabilities of tokens are sent."""
        return self.logprobs is not None

    def requests(self, offer: ModelOffer) -> tuple[Generate, ...]:
        """A request to the engine for each answer; a length of 0 is asked as 1, and -1 is no limit.

        Raises ApiError for what cannot be served.
        """
        if self.suffix:
            raise bad("suffix is not supported: the model continues a text and fills no gaps", "suffix")
        prompts, count = self.prompts, self.n or 1
        if not prompts:
            raise bad("prompt is empty: send at least one", "prompt")
        if len(prompts) * count > MAX_CHOICES:
            raise bad(f"{len(prompts)} prompts × n {count} are too many answers: at most {MAX_CHOICES}", "prompt")
        length = USUAL_TOKENS if self.max_tokens is None else self.max_tokens
        grammar = self.response_format.grammar("response_format") if self.response_format else ""
        request = Generate(
            (),
            seed=self.first_seed,
            settings=self.settings(
                offer, max_tokens=None if length < 0 else max(length, 1), stop=self.stops, grammar=grammar
            ),
            logprobs=0 if self.echo and self.logprobs is None and not self._is_text else self.logprobs,
            echo=bool(self.echo),
        )
        return tuple(each for prompt in prompts for each in self.repeated(replace(request, prompt=prompt)))

    @property
    def _is_text(self) -> bool:
        return all(isinstance(prompt, str) for prompt in self.prompts)


def _ids(ids: Sequence[str | int | list[int]]) -> tuple[int, ...]:
    tokens = tuple(each for each in ids if isinstance(each, int) and 0 <= each < 2**31)
    if len(tokens) < len(ids) or not tokens:
        raise bad("prompt has ids that are not tokens: use whole numbers from 0 on", "prompt")
    return tokens
