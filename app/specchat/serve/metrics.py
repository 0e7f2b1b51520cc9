"""Metrics for Prometheus. Names follow vLLM's, under `specchat:`, since this is not vLLM."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from specchat.engine_process.protocol import Generate
from specchat.engine_process.shared_client import SharedClient
from specchat.serve.answers.figures import AnswerFigures
from specchat_engine.decoding.rounds import Round

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_LABELS = ("model_name", "kind")
_TTFT = (0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160)
_PER_TOKEN = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5)
_WHOLE = (0.05, 0.1, 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960)
_WIDTH = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)


Kind = Literal["chat", "completion", "json", "tools"]
"""The sort of text that is asked for; drafts succeed to different degrees."""


def kind_of(request: Generate) -> Kind:
    """The kind of an answer."""
    if request.settings.sampling.grammar:
        return "json"
    if request.prompt is not None:
        return "completion"
    return "tools" if request.tools.functions else "chat"


class Metrics:
    """Counts what the server does, by the kind of text that was asked for."""

    def __init__(self, engine: SharedClient, model: str) -> None:
        self._model = model
        self._registry = registry = CollectorRegistry()
        registry.register(_EngineGauges(engine, model))

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"specchat:{name}", about, (*_LABELS, *labels), registry=registry)

        def histogram(name: str, about: str, buckets: Iterable[float]) -> Histogram:
            return Histogram(f"specchat:{name}", about, _LABELS, registry=registry, buckets=tuple(buckets))

        self._drafts = counter("spec_decode_num_drafts", "Drafts.")
        self._drafted = counter("spec_decode_num_draft_tokens", "Drafted tokens.")
        self._accepted = counter("spec_decode_num_accepted_tokens", "Accepted tokens.")
        self._accepted_at = counter(
            "spec_decode_num_accepted_tokens_per_pos", "Accepted tokens by their position in the draft.", "position"
        )
        self._parts = counter("decode_seconds", "Time of decoding: draft, verify, rollback and other.", "part")
        self._prompt = counter("prompt_tokens", "Tokens of prompts.")
        self._cached = counter("prompt_tokens_cached", "Tokens of prompts that were in memory already.")
        self._made = counter("generation_tokens", "Tokens of answers.")
        self._ended = counter("request_success", "Answers by the reason for their end.", "finished_reason")
        self._failed = counter("request_failure", "Requests that ended with an error, by HTTP status.", "status")
        self._first = histogram("time_to_first_token_seconds", "Time to the first token, waiting included.", _TTFT)
        self._each = histogram("time_per_output_token_seconds", "Time per token after the first.", _PER_TOKEN)
        self._whole = histogram("e2e_request_latency_seconds", "Time from a request to its last token.", _WHOLE)
        self._emitted = histogram("spec_decode_emitted_tokens", "Tokens that a round added to its answer.", _WIDTH)

    def round(self, kind: str, event: Round) -> None:
        """Counts a round."""
        labels = (self._model, kind)
        self._made.labels(*labels).inc(event.num_emitted)
        self._emitted.labels(*labels).observe(event.num_emitted)
        for part in ("draft", "verify", "rollback", "other"):
            self._parts.labels(*labels, part).inc(max(getattr(event.ms, part), 0.0) / 1000)
        if event.drafted:
            self._drafts.labels(*labels).inc()
            self._drafted.labels(*labels).inc(len(event.drafted))
            self._accepted.labels(*labels).inc(event.num_accepted)
            for position in range(event.num_accepted):
                self._accepted_at.labels(*labels, str(position)).inc()

    def prompt(self, kind: str, figures: AnswerFigures) -> None:
        """Counts a prompt that was read."""
        self._prompt.labels(self._model, kind).inc(figures.prompt_tokens)
        self._cached.labels(self._model, kind).inc(figures.cached_tokens)

    def first_token(self, kind: str, seconds: float) -> None:
        """Notes how long the first token of an answer took."""
        self._first.labels(self._model, kind).observe(seconds)

    def ended(self, kind: str, reason: str, *, seconds: float, first: float | None, num_tokens: int) -> None:
        """Counts an answer that ended, and what it took: in all, and to its first token."""
        self._ended.labels(self._model, kind, reason).inc()
        self._whole.labels(self._model, kind).observe(seconds)
        if first is not None and num_tokens > 1:
            self._each.labels(self._model, kind).observe((seconds - first) / (num_tokens - 1))

    def left(self, kind: str) -> None:
        """Counts an answer whose client went away."""
        self._ended.labels(self._model, kind, "abort").inc()

    def failed(self, kind: str, status: int) -> None:
        """Counts a request that ended with an error."""
        self._failed.labels(self._model, kind, str(status)).inc()

    def exposition(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return generate_latest(self._registry)


class _EngineGauges(Collector):
    """Asks the engine for its state whenever it is scraped."""

    def __init__(self, engine: SharedClient, model: str) -> None:
        self._engine, self._model = engine, model

    def collect(self) -> Iterable[Metric]:
        """The gauges now."""
        engine = self._engine
        values = {
            "num_requests_running": ("Requests that are being answered.", engine.running),
            "num_requests_waiting": ("Requests that wait for a place.", engine.waiting),
            "engine_alive": ("Whether the engine's process runs.", int(engine.alive)),
            "engine_deaths": ("How often the engine's process ended unasked.", engine.deaths),
        }
        for name, (about, value) in values.items():
            gauge = GaugeMetricFamily(f"specchat:{name}", about, labels=["model_name"])
            gauge.add_metric([self._model], value)
            yield gauge
