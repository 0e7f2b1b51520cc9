"""Charts of the insight in the theme's colours."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from specchat.stats.charts import Line, Style

_STYLES = {
    Style.PLAIN: "",
    Style.QUIET: "$quiet",
    Style.STRONG: "bold",
    Style.ACCEPTED: "$outcome-accepted",
    Style.TARGET: "$outcome-correction",
}


def charted(lines: Iterable[Line]) -> Content:
    """The lines as the screen draws them."""
    return Content("\n").join(Content.assemble(*((text, _STYLES[style]) for text, style in line)) for line in lines)
