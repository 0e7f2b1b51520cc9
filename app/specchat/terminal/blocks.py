"""Numbers and bars of fixed width, for the dashboard, the charts and the command line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = "▁▂▃▄▅▆▇█"


def bar(share: float, width: int) -> str:
    """A horizontal bar in eighths of a cell, filled up with `░`."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, rest = divmod(eighths, 8)
    drawn = "█" * full + (_EIGHTHS[rest] if rest else "")
    return drawn + "░" * (width - len(drawn))


def levels(values: Sequence[float], top: float) -> str:
    """One block for each value, as high as its share of `top`."""
    return "".join(_LEVELS[min(int(max(value, 0.0) / top * 8), 7)] if top > 0 else _LEVELS[0] for value in values)


def percent(share: float | None) -> str:
    """A share as ` 76 %`, always five cells."""
    return "  – %" if share is None else f"{share:4.0%}".replace("%", " %").rjust(5)


def number(value: float | None, width: int, decimals: int) -> str:
    """A number, right-aligned; `–` for None."""
    return ("–" if value is None else f"{value:.{decimals}f}").rjust(width)


def speed(value: float | None) -> str:
    """Tokens/s in five cells, with a decimal below 100."""
    return number(value, 5, 0 if value is not None and value >= 100 else 1)


def columns(values: Sequence[float], width: int) -> tuple[float, ...]:
    """The values, averaged over neighbours so that at most `width` are left."""
    if len(values) <= width:
        return tuple(values)
    edges = [round(index * len(values) / width) for index in range(width + 1)]
    return tuple(sum(values[a:b]) / (b - a) for a, b in pairwise(edges))


def per_cent(share: float) -> str:
    """A share in running text: `6 %`."""
    return f"{share * 100:.0f} %"


def percents(shares: Iterable[float]) -> list[int]:
    """The shares of a whole in whole percents that add up to what the shares do: to 100 for all parts of a whole.

    Each is rounded down, and the ones that lose most by that get the percents that are left; of two that lose as much,
    the larger one, so that the order of the shares does not matter.
    """
    exact = [100 * share for share in shares]
    rounded = [math.floor(value) for value in exact]
    left = round(sum(exact)) - sum(rounded)
    for index in sorted(range(len(exact)), key=lambda index: (rounded[index] - exact[index], -exact[index]))[:left]:
        rounded[index] += 1
    return rounded


def cut(text: str, width: int) -> str:
    """The text, shortened to `width` cells of one character each, with `…` at the end if something is missing."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"
