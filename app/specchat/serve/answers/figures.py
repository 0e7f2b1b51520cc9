"""An answer in figures: OpenAI's usage, llama.cpp's timings, vLLM's metrics of speculative decoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specchat.engine_process.protocol import Started
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.stats import TurnStats


class AnswerFigures:
    """Counts one answer, event by event. A token that ends the answer counts as one of its tokens."""

    def __init__(self) -> None:
        self.stats = TurnStats()
        self.cached_tokens = 0
        self.cache_miss = ""
        self.reasoning_tokens = 0
        self.of_lookup = TurnStats()
        self._drafted: list[int] = []
        self._accepted: list[int] = []

    def begin(self, started: Started) -> None:
        """Counts the prompt."""
        self.stats.prompt_tokens, self.cached_tokens = started.line["prompt_tokens"], started.cached_tokens
        self.cache_miss = started.cache_miss

    def observe(self, event: Round) -> None:
        """Counts one round."""
        if not self.stats.num_rounds:
            self.stats.prompt_ms = max(event.t_ms - event.ms.total, 0.0)
        self.stats.observe(event)
        if event.drafted:
            self._drafted.append(len(event.drafted))
            self._accepted.append(event.num_accepted)
            if event.source == "lookup":
                self.of_lookup.observe(event)

    @property
    def prompt_tokens(self) -> int:
        """The tokens of the prompt."""
        return self.stats.prompt_tokens

    @property
    def num_tokens(self) -> int:
        """The tokens of the answer."""
        return self.stats.num_tokens

    def timings(self) -> dict[str, Any]:
        """llama.cpp's `timings`; its draft counters are there if anything was drafted."""
        stats = self.stats
        read = stats.prompt_tokens - self.cached_tokens
        drafts = {"draft_n": stats.num_draft_tokens, "draft_n_accepted": stats.num_accepted_tokens}
        return {
            "cache_n": self.cached_tokens,
            "prompt_n": read,
            "prompt_ms": stats.prompt_ms,
            "prompt_per_token_ms": _ratio(stats.prompt_ms, read),
            "prompt_per_second": _ratio(read * 1000, stats.prompt_ms),
            "predicted_n": stats.num_tokens,
            "predicted_ms": stats.decode_ms,
            "predicted_per_token_ms": _ratio(stats.decode_ms, stats.num_tokens),
            "predicted_per_second": _ratio(stats.num_tokens * 1000, stats.decode_ms),
        } | (drafts if stats.num_draft_tokens else {})

    def metrics(self) -> dict[str, Any]:
        """vLLM's `metrics`. Rounds without a draft are not counted; the histogram is over accepted tokens a draft."""
        stats = self.stats
        accepted, drafted = stats.num_accepted_tokens, stats.num_draft_tokens
        longest = max(self._drafted, default=0)
        histogram = [self._accepted.count(length) for length in range(longest + 1)]
        return {
            "speculative_decoding": {
                "mean_acceptance_length": 1 + (_ratio(accepted, stats.num_drafts) or 0.0),
                "draft_acceptance_rate": stats.acceptance_rate,
                "acceptance_histogram": histogram,
                "num_spec_steps": stats.num_drafts,
                "num_accepted_draft_tokens": accepted,
                "num_draft_tokens": drafted,
                "num_spec_tokens": longest,
                "per_step_accepted": self._accepted,
                "per_step_drafted": self._drafted,
            }
        }


def usage(figures: Sequence[AnswerFigures], *, predicts: bool, prompts: int = 1) -> dict[str, Any]:
    """OpenAI's `usage` over all answers to a request, which has `prompts` different prompts.

    The tokens of a prediction that were accepted or rejected are those of prompt lookup, which drafts it.
    """
    each = len(figures) // prompts or 1
    prompt_tokens = sum(answer.prompt_tokens for answer in figures[::each])
    completion_tokens = sum(answer.num_tokens for answer in figures)
    details: dict[str, int] = {}
    if thought := sum(answer.reasoning_tokens for answer in figures):
        details["reasoning_tokens"] = thought
    if predicts:
        accepted = sum(answer.of_lookup.num_accepted_tokens for answer in figures)
        details["accepted_prediction_tokens"] = accepted
        details["rejected_prediction_tokens"] = sum(answer.of_lookup.num_draft_tokens for answer in figures) - accepted
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": {"cached_tokens": sum(answer.cached_tokens for answer in figures[::each])},
    } | ({"completion_tokens_details": details} if details else {})


def _ratio(amount: float, by: float) -> float | None:
    return amount / by if by else None
