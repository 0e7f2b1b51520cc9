"""The pages of the statistics window: one turn, many turns, all pairs. Pure functions of the figures and the width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from textual.content import Content

from specchat.stats.advice import Answered
from specchat.stats.causes import causes
from specchat.stats.charts import Line, Style, histogram, k_chart, kinds_table, position_bars, wrapped
from specchat.stats.figures import FIGURES
from specchat.stats.figures.acceptance import ALPHA_AND_RATE, TAU
from specchat.stats.figures.costs import BREAK_EVEN, TIME
from specchat.stats.figures.drafts import SOURCES
from specchat.stats.figures.speed import SPEED, SPEEDUP, in_short
from specchat.stats.limits import limits
from specchat.stats.line import shown_shares, time_percents
from specchat.stats.summary import Figures, Summary
from specchat.stats.what_if_chart import what_if_chart
from specchat.store.turns import Counters
from specchat.terminal.blocks import bar, number, per_cent
from specchat.terminal.filter import clean_line
from specchat.tui.side_answer import Stored

Page = Callable[[int], list[Line]]
"""The lines of a page at a width."""

_WIDEST = 100
_LABEL = 16
_TABLE = 60
"""The width of the table of pairs."""
_EMPTY: Line = (("", Style.PLAIN),)
_TOLD = SPEED, SPEEDUP, TIME, ALPHA_AND_RATE, TAU, SOURCES, BREAK_EVEN
_DISTURBED = "other programs disturbed this answer"
_UNKNOWN = "too little was measured while the machine was as busy as during this answer"
_NOT_YET = "Nothing recorded yet: statistics start with the first answer."


def pages(turn: Answered | None, stored: Stored, pair: str) -> dict[str, Page]:
    """The pages by the names of their tabs."""
    return {
        "Turn": lambda width: turn_page(turn, width) if turn else wrapped(_NOT_YET, width, Style.QUIET),
        "Why": lambda width: why_page(turn, width) if turn else wrapped(_NOT_YET, width, Style.QUIET),
        "Session": lambda width: summary_page(stored.session, width),
        "Pair": lambda width: [*wrapped(pair, width, Style.STRONG), _EMPTY, *summary_page(stored.pair, width)],
        "All pairs": lambda width: pairs_page(stored.pairs, pair, width),
    }


def turn_page(turn: Answered, width: int) -> list[Line]:
    """One answer: its totals, the prediction for other values of k, and k over the turn."""
    width = min(width, _WIDEST)
    lines = [*totals(turn.view.summary, width)]
    gauge = turn.view.break_even
    if gauge is not None:
        lines += [*_title("Break-even"), *wrapped(gauge.sentence(), width)]
    if turn.prediction is not None:
        lines += [*_title("What if: tokens/s over k"), *what_if_chart(turn.prediction, width)]
    elif turn.rounds:
        why = (
            f"What if: no prediction for other values of k, because {_DISTURBED if turn.view.disturbed else _UNKNOWN}."
        )
        lines += [_EMPTY, *wrapped(why, width, Style.QUIET)]
    lines += [*_title("k over the turn"), *k_chart(turn.rounds, width)]
    return lines + details(turn.view.summary, width)


def summary_page(summary: Summary, width: int) -> list[Line]:
    """The totals of many answers."""
    if not summary.total.num_rounds:
        return wrapped(_NOT_YET, width, Style.QUIET)
    width = min(width, _WIDEST)
    return totals(summary, width) + details(summary, width)


def totals(summary: Summary, width: int) -> list[Line]:
    """The most important figures."""
    figures = summary.total
    first = summary.first_ms.quantile(0.5)
    rows = [
        ("answers", f"{summary.turns}"),
        ("tokens", f"{figures.num_tokens} in {figures.num_rounds} rounds"),
        *(row for figure in FIGURES for row in figure.total(summary)),
        ("first token", f"{number(first, 1, 0)} ms" + (" (median)" if summary.turns > 1 else "")),
    ]
    lines = [line for name, text in rows for line in _labelled(name, text, width)]
    return lines + _time(figures, width)


def details(summary: Summary, width: int) -> list[Line]:
    """Figures by kind of content, by source and by position, and how long rounds took."""
    kinds = sorted(summary.by_kind.items(), key=lambda named: -named[1].num_tokens)
    sources = sorted(summary.by_source.items(), key=lambda named: -named[1].num_tokens)
    lines = [*_title("By kind of content"), *kinds_table(kinds, width)]
    lines += [*_title("By source of the draft"), *kinds_table(sources, width)]
    if summary.total.drafted_at:
        lines += [*_title("Accepted by place in the draft"), *position_bars(summary.total, min(width, 72))]
    if summary.total.num_rounds:
        lines += [*_title("Milliseconds of a round"), *histogram(summary.total.round_ms, min(width, 72))]
    return lines


def pairs_page(pairs: Mapping[str, Counters], present: str, width: int) -> list[Line]:
    """All pairs that answered on this machine, the latest first."""
    if not pairs:
        return wrapped(_NOT_YET, width, Style.QUIET)
    if width < _TABLE:
        described = [(name, _pair(sums)) for name, sums in pairs.items()]
        return [
            line
            for name, figures in described
            for line in (*wrapped(name, width, Style.STRONG), *wrapped(figures, width, indent="  "), _EMPTY)
        ]
    room = min(width, _WIDEST) - 48
    head = f"{'':<{room}}{'answers':>8}{'tokens':>9}{'α':>7}{'τ':>7}{'tok/s':>8}{'× plain':>9}"
    lines: list[Line] = [((head, Style.QUIET),)]
    for name, sums in pairs.items():
        shown = clean_line(name)
        shown = shown if len(shown) < room else shown[: room - 2] + "…"
        cells = (
            f"{sums.num_turns:>8}{sums.num_tokens:>9}{number(sums.alpha, 7, 2)}{number(sums.block_efficiency, 7, 2)}"
            f"{number(sums.tokens_per_second, 8, 0)}{number(sums.speedup, 9, 2)}"
        )
        lines.append(((f"{shown:<{room}}", Style.STRONG if name == present else Style.PLAIN), (cells, Style.PLAIN)))
    return lines


def _pair(sums: Counters) -> str:
    answers = "1 answer" if sums.num_turns == 1 else f"{sums.num_turns} answers"
    return (
        f"{answers}, {sums.num_tokens} tokens, α {number(sums.alpha, 1, 2)}, "
        f"τ {number(sums.block_efficiency, 1, 2)}, {number(sums.tokens_per_second, 1, 0)} tok/s, "
        f"{number(sums.speedup, 1, 2)} × plain"
    )


def why_page(turn: Answered, width: int) -> list[Line]:
    """Why an answer was as fast as it was, and what could make it faster, with reasons, the largest gain first."""
    width = min(width, _WIDEST)
    lines = [*wrapped(in_short(turn.view), width, Style.STRONG), _EMPTY]
    lines += [line for figure in _TOLD for line in wrapped(f"· {figure.sentence(turn.view)}", width, hang="  ")]
    lines += [line for sentence in limits(turn.rounds) for line in wrapped(f"· {sentence}", width, hang="  ")]
    all_advice = sorted(causes(turn).values(), key=lambda advice: -advice.gain)
    lines += _title("What could be gained")
    if not all_advice:
        lines += wrapped(_no_advice(turn), width)
    for index, advice in enumerate(all_advice):
        lines += [_EMPTY] if index else []
        gain = "" if per_cent(advice.gain) in advice.sentence else f" ({per_cent(advice.gain)} faster)"
        lines += wrapped(f"{advice.sentence}{gain}", width, Style.STRONG)
        for reason in advice.why:
            lines += wrapped(reason, width, Style.PLAIN, indent="  ")
        if advice.command:
            lines += wrapped(f"try: {advice.command}", width, Style.ACCEPTED, indent="  ")
    return lines


def _no_advice(turn: Answered) -> str:
    if not turn.view.figures.shares:
        return "No advice: a server decides how it drafts, and does not report what its passes take."
    if turn.view.disturbed:
        return f"No advice: {_DISTURBED}, so its times say little about k and the draft."
    if turn.prediction is None:
        return f"No advice about k and the draft: {_UNKNOWN}."
    return "Nothing: k, drafter and draft suit this text."


def _title(text: str) -> list[Line]:
    return [_EMPTY, ((text, Style.ACCEPTED),)]


def _labelled(label: str, text: str, width: int) -> list[Line]:
    """A text beside its label, in as many rows as it needs."""
    rows = wrapped(text, width - _LABEL, Style.STRONG)
    return [((f"{'' if at else label:<{_LABEL}}", Style.QUIET), *row) for at, row in enumerate(rows)]


def _time(figures: Figures, width: int) -> list[Line]:
    """A bar for each part of the decoding time."""
    room = max(min(width, 72) - _LABEL - 13, 8)
    shares = shown_shares(figures.shares)
    whole = time_percents(figures.shares)
    return [
        (
            (f"{'time ' + name:<{_LABEL}}", Style.QUIET),
            (bar(share, room), Style.TARGET if name == "draft" else Style.ACCEPTED),
            (f" {whole[name]:>3} %", Style.PLAIN),
        )
        for name, share in shares.items()
        if whole[name]
    ]


def charted(lines: Iterable[Line]) -> Content:
    """The lines in the theme's colours."""
    return Content("\n").join(Content.assemble(*line) for line in lines)
