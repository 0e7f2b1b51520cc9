"""The known pairs that fit this machine, as they are offered: names, size, expected speed, and who measured it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from specchat.models.formatting import format_size
from specchat.models.machine import Place
from specchat_assets.catalog import Report, catalog
from specchat_assets.catalog.fits import Recommendation, fits
from specchat_engine.pairing.judge import best_speedup


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A known pair; `target` and `draft` are names for `specchat models pull`."""

    recommendation: Recommendation
    target: str
    draft: str

    @property
    def title(self) -> str:
        """`Qwen 3 4B Q4_K_M + 0.6B`."""
        one, pair = self.recommendation, self.recommendation.pair
        target, draft = (model.name.replace(" Instruct", "") for model in (pair.target, pair.draft))
        return f"{target} {one.quantisation} + {_shorter(draft, target)}"

    @property
    def size(self) -> str:
        """The size of the download."""
        return format_size(self.recommendation.size)

    @property
    def speed(self) -> str:
        """The expected speed: `about 1.2 × plain, 7 tok/s`."""
        one = self.recommendation
        if not math.isfinite(one.plain_tokens_per_second):
            return f"about {one.speedup:.1f} × plain" if one.speedup else "speed not known"
        if one.tokens_per_second is None or one.speedup is None:
            return f"about {_pace(one.plain_tokens_per_second)} plain"
        if one.speedup < 1:
            return f"about {_pace(one.plain_tokens_per_second)} plain, the draft gains nothing"
        return f"about {one.speedup:.1f} × plain, {_pace(one.tokens_per_second)}"

    def sources(self) -> list[str]:
        """The measurements that the estimate is based on, one line each."""
        return [_line(report) for report in self.recommendation.pair.reports] or [
            "no measurements of this pair are known"
        ]


def suggestions(place: Place, limit: int = 40) -> list[Suggestion]:
    """The pairs that fit this machine, the most capable target first, each with the draft of the highest gain."""
    bandwidth = math.inf if place.on_gpu or place.bandwidth is None else place.bandwidth
    found: dict[str, Recommendation] = {}
    for one in fits(catalog(), place.memory, bandwidth, lambda alpha, cost: best_speedup(alpha, cost)[0]):
        best = found.setdefault(one.pair.target.id, one)
        if (one.speedup or 0) > (best.speedup or 0):
            found[one.pair.target.id] = one
    return [_suggestion(one) for one in [*found.values()][:limit]]


def basis(place: Place) -> str:
    """A line that says what the expected speeds are based on."""
    if place.on_gpu:
        return "These fit the GPU's memory. Its speed is not known before a model has run."
    if place.bandwidth is None:
        return "These fit. The memory bandwidth of this machine could not be measured."
    return (
        "Estimates from the α that others measured and the memory bandwidth of this machine, "
        f"{format_size(place.bandwidth)}/s."
    )


def few(known: list[Suggestion], count: int = 3) -> list[Suggestion]:
    """A few suggestions from different families, those with a known gain first."""
    chosen: dict[str, Suggestion] = {}
    for one in sorted(known, key=lambda one: (one.recommendation.speedup or 0) <= 1):
        chosen.setdefault(one.recommendation.pair.target.family, one)
    return [*chosen.values()][:count]


def _suggestion(one: Recommendation) -> Suggestion:
    return Suggestion(
        one,
        f"{one.pair.target.repository}:{one.quantisation}",
        f"{one.pair.draft.repository}:{one.quantisation_draft}",
    )


def _shorter(draft: str, target: str) -> str:
    """A draft's name without the words at its beginning and end that the target's name has, too: `0.6B`."""
    words, others = draft.split(), target.split()
    while len(words) > 1 and others and words[0] == others[0]:
        words, others = words[1:], others[1:]
    while len(words) > 1 and others and words[-1] == others[-1]:
        words, others = words[:-1], others[:-1]
    return " ".join(words)


def _pace(tokens_per_second: float) -> str:
    return f"{tokens_per_second:.0f} tok/s" if tokens_per_second >= 3 else f"{tokens_per_second:.1f} tok/s"


def _line(report: Report) -> str:
    figures = [
        f"α {report.alpha:.2f}" if report.alpha is not None else "",
        f"accepted {100 * report.acceptance_rate:.0f} %" if report.acceptance_rate is not None else "",
        f"τ {report.block_efficiency:.1f}" if report.block_efficiency is not None else "",
        f"{report.speedup:.2f} ×" if report.speedup is not None else "",
        f"k {report.k}" if report.k is not None else "",
    ]
    return f"{', '.join(one for one in figures if one)} ({report.setting}): {report.source}"
