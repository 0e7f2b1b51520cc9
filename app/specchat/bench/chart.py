"""A benchmark as one self-contained SVG file that is legible on light and on dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from specchat.bench.document import Benchmark
from specchat.bench.plan import PLAIN, Arm
from specchat.bench.samples import Estimate
from specchat.bench.summary import ALL_KINDS
from specchat.terminal.filter import clean_line
from specchat.terminal.palette import BLUE, ORANGE
from specchat_engine.settings import AUTO, HEADS

_LABELS, _PANEL, _GAP, _MARGIN = 150, 330, 24, 20
_HEAD, _FOOT, _ROW, _BAR, _GROUP = 110, 44, 19, 12, 16
_LEAST_WIDTH = 640
_VALUE = 44
"""The width of the number after a bar."""

_STYLE = """
text { font: 12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; fill: #757c85; }
.title { font-size: 17px; font-weight: 600; }
.kind, .value { font-weight: 600; }
.small { font-size: 11px; }
.ink { stroke: #757c85; fill: none; }
.grid { stroke: #8c8c8c; stroke-opacity: .22; }
.plain, .auto { stroke: #757c85; stroke-width: 1.5; }
@media (prefers-color-scheme: light) {
  text { fill: #59636e; } .title, .kind, .value { fill: #1f2328; } .ink, .plain, .auto { stroke: #1f2328; }
}
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1; } .title, .kind, .value { fill: #f0f6fc; } .ink, .plain, .auto { stroke: #f0f6fc; }
}
"""
"""Middle grey is legible on white and on black, for viewers that do not report the colour of the page."""

_DEFINITIONS = (
    f'<defs><linearGradient id="both"><stop offset="0" stop-color="{BLUE}"/><stop offset="1" stop-color="{ORANGE}"/>'
    "</linearGradient></defs>"
)
"""Hybrid drafts come from the draft model and from lookup."""


@dataclass(frozen=True, slots=True)
class _Group:
    """A group of bars: a kind of text, and the measured ratios by temperature and arm."""

    name: str
    ratios: dict[tuple[float, Arm], Estimate]


def chart(benchmark: Benchmark) -> str:
    """The SVG: a panel for each temperature, with a group of bars for each kind of text and for all kinds."""
    arms = [arm for arm in benchmark.conditions.arms if arm != PLAIN]
    temperatures = benchmark.temperatures
    groups = _groups(benchmark)
    scale = _scale([ratio for group in groups for ratio in group.ratios.values()])
    width = max(_LEAST_WIDTH, _MARGIN + _LABELS + len(temperatures) * (_PANEL + _GAP) - _GAP + _MARGIN)
    height = _HEAD + len(groups) * (_GROUP + len(arms) * _ROW) + _FOOT
    body = [*_heading(benchmark)]
    for column, temperature in enumerate(temperatures):
        left = _MARGIN + _LABELS + column * (_PANEL + _GAP)
        body += _panel(temperature, left, groups, arms, scale, height)
    body += _labels(groups, arms)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="{escape(_summary(benchmark), {chr(34): "&quot;"})}">',
            f"<style>{_STYLE}</style>",
            _DEFINITIONS,
            *body,
            "</svg>\n",
        )
    )


def _groups(benchmark: Benchmark) -> list[_Group]:
    kinds: dict[str, dict[tuple[float, Arm], Estimate]] = {}
    for row in benchmark.rows:
        if row.end_to_end_ratio and row.arm != PLAIN:
            kinds.setdefault(clean_line(row.kind), {})[row.temperature, row.arm] = row.end_to_end_ratio
    means = [mean for temperature in benchmark.temperatures for mean in benchmark.overall(temperature)]
    every = {(mean.temperature or 0.0, mean.arm): mean.end_to_end_ratio for mean in means if mean.arm != PLAIN}
    groups = [_Group(kind, ratios) for kind, ratios in kinds.items()]
    return [*groups, _Group(ALL_KINDS, every)] if len(groups) > 1 else groups


def _scale(ratios: Sequence[Estimate]) -> float:
    """The ratio at the right end of a panel."""
    return max(1.5, math.ceil(2 * max((_end(ratio) for ratio in ratios), default=1.0)) / 2)


def _end(ratio: Estimate) -> float:
    """How far a bar and its whisker reach."""
    return max(ratio.value, ratio.interval[1] if ratio.interval else 0.0)


def _heading(benchmark: Benchmark) -> Iterator[str]:
    conditions = benchmark.conditions
    versions, threads = conditions.versions, conditions.machine["threads"]
    details = f"Answers of up to {conditions.max_tokens} tokens, {threads} threads, llama.cpp {versions['llama.cpp']}"
    yield _text(_MARGIN, 30, clean_line(benchmark.pair), "title")
    yield _text(_MARGIN, 50, "Speed from the prompt to the last token, × plain decoding, with 95 % intervals")
    yield _text(_MARGIN, 67, clean_line(details))


def _labels(groups: Sequence[_Group], arms: Sequence[Arm]) -> Iterator[str]:
    for group, top in zip(groups, _tops(groups, arms), strict=True):
        yield _text(_MARGIN, top + 13, group.name, "kind")
        for row, arm in enumerate(arms):
            yield _text(_MARGIN + _LABELS - 12, top + row * _ROW + 13, arm.label, "small", anchor="end")


def _panel(
    temperature: float, left: int, groups: Sequence[_Group], arms: Sequence[Arm], scale: float, height: int
) -> Iterator[str]:
    unit = (_PANEL - _VALUE) / scale
    bottom = height - _FOOT + 6
    yield _text(left, _HEAD - 20, f"temperature {temperature:g}", "kind")
    step = 0.5 if scale <= 4 else 1.0
    for tick in range(int(scale / step) + 1):
        x = left + tick * step * unit
        kind = "plain" if tick * step == 1 else "grid"
        yield f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{_HEAD - 10}" y2="{bottom}"/>'
        yield _text(x, bottom + 16, "plain" if kind == "plain" else f"{tick * step:g}", "small", anchor="middle")
    for group, top in zip(groups, _tops(groups, arms), strict=True):
        for row, arm in enumerate(arms):
            if ratio := group.ratios.get((temperature, arm)):
                yield from _bar(ratio, arm, left, top + row * _ROW, unit)


def _bar(ratio: Estimate, arm: Arm, left: float, top: float, unit: float) -> Iterator[str]:
    y = top + (_ROW - _BAR) / 2
    outline = ' class="auto"' if arm.k == AUTO else ""
    yield (
        f'<rect x="{left}" y="{y}" width="{ratio.value * unit:.1f}" height="{_BAR}" rx="2" fill="{_colour(arm)}" '
        f'fill-opacity="{_strength(arm)}"{outline}><title>{escape(_tooltip(ratio, arm))}</title></rect>'
    )
    if ratio.interval:
        low, high = (left + end * unit for end in ratio.interval)
        middle = y + _BAR / 2
        yield (
            f'<path class="ink" d="M{low:.1f} {middle - 3}v6M{low:.1f} {middle}H{high:.1f}M{high:.1f} {middle - 3}v6"/>'
        )
    yield _text(left + max(1.0, _end(ratio)) * unit + 6, y + _BAR - 2, f"{ratio.value:.2f}", "value small")


def _tooltip(ratio: Estimate, arm: Arm) -> str:
    return f"{arm.label}: {ratio.words}, {ratio.pairs} pairs"


def _colour(arm: Arm) -> str:
    if arm.drafter in ("model", *HEADS):
        return BLUE
    return ORANGE if arm.drafter in ("lookup", "store") else "url(#both)"


def _strength(arm: Arm) -> float:
    """The longer the draft, the stronger the colour."""
    return 1.0 if arm.k == AUTO else min(1.0, 0.35 + 0.2 * math.log2(arm.k))


def _tops(groups: Sequence[_Group], arms: Sequence[Arm]) -> list[int]:
    return [_HEAD + index * (_GROUP + len(arms) * _ROW) for index in range(len(groups))]


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


def _summary(benchmark: Benchmark) -> str:
    best = ""
    if choice := benchmark.choice:
        ratio = choice.best.end_to_end_ratio.value
        best = f"; best over all kinds: {choice.best.arm.label}, {ratio:.2f} times plain"
    return f"Speed of {clean_line(benchmark.pair)} as a multiple of plain decoding{best}"
