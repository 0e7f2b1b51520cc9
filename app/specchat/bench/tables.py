"""A benchmark as tables and bars for a terminal or a text file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from specchat.bench.comparison import Comparison
from specchat.bench.document import Benchmark
from specchat.bench.plan import PLAIN
from specchat.bench.samples import Estimate
from specchat.bench.summary import ALL_KINDS, Overall, SummaryRow
from specchat.terminal.filter import clean_line
from specchat.terminal.palette import BLUE, GREY, ORANGE

NOTHING = "–"
_KIND_WIDTH = 12


@dataclass(frozen=True, slots=True)
class _Column:
    """A heading, the cell of a row, and the cell of the mean over all kinds."""

    heading: str
    cell: Callable[[SummaryRow], Text]
    mean: Callable[[Overall], Text] = lambda _mean: Text("")


def tables(benchmark: Benchmark, temperature: float, console: Console) -> list[Table]:
    """The rows of one temperature, as one table, or as two if the console is too narrow."""
    rows = [row for row in benchmark.rows if row.temperature == temperature]
    means = benchmark.overall(temperature)
    title = f"temperature {temperature:g}"
    whole = _table(title, (*_SPEED, *_REASONS), rows, means)
    if Measurement.get(console, console.options.update(max_width=1000), whole).maximum <= console.width:
        return [whole]
    return [_table(title, _SPEED, rows, means), _table(f"{title}, details", _REASONS, rows, ())]


def hindsight_table(benchmark: Benchmark, temperature: float) -> Table | None:
    """The adaptive choice on each kind against the best fixed one; None if nothing adaptive was measured."""
    comparisons = benchmark.hindsight(temperature)
    if not comparisons:
        return None
    title = f"temperature {temperature:g}, adaptive against the best fixed"
    table = _empty(title, ("best fixed", "adaptive / best", "95 %"))
    arm = comparisons[0].arm
    for comparison in comparisons:
        if comparison.kind == ALL_KINDS or comparison.arm != arm:
            table.add_section()
        best = Text(comparison.best_fixed.label if comparison.best_fixed else NOTHING)
        table.add_row(
            clean_line(comparison.kind),
            comparison.arm.label,
            best,
            _gain(comparison.end_to_end_ratio),
            _interval(comparison.end_to_end_ratio),
        )
        arm = comparison.arm
    return table


def comparison_tables(comparison: Comparison) -> list[Table]:
    """One table for each temperature."""
    tables = []
    for temperature in dict.fromkeys(change.temperature for change in comparison.changes):
        table = _empty(f"temperature {temperature:g}", ("speed B / A", "95 %", "× plain A", "× plain B"))
        kind = None
        for change in comparison.changes:
            if change.temperature != temperature:
                continue
            if kind not in (None, change.kind):
                table.add_section()
            table.add_row(
                clean_line(change.kind) if change.kind != kind else "",
                change.arm.label,
                _gain(change.speed_ratio),
                _interval(change.speed_ratio),
                _number(change.end_to_end_ratio_a, 2),
                _number(change.end_to_end_ratio_b, 2),
            )
            kind = change.kind
        tables.append(table)
    return tables


def _table(title: str, columns: Sequence[_Column], rows: Sequence[SummaryRow], means: Sequence[Overall]) -> Table:
    table = _empty(title, [column.heading for column in columns])
    kind = None
    for row in rows:
        if kind not in (None, row.kind):
            table.add_section()
        name = clean_line(row.kind) if row.kind != kind else ""
        table.add_row(name, row.arm.label, *(column.cell(row) for column in columns))
        kind = row.kind
    if len({row.kind for row in rows}) < 2:
        return table
    table.add_section()
    for index, mean in enumerate(means):
        name = "" if index else ALL_KINDS
        table.add_row(name, mean.arm.label, *(column.mean(mean) for column in columns))
    return table


def _empty(title: str, headings: Sequence[str]) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    table.padding, table.pad_edge, table.show_edge = 0, False, False
    table.add_column("kind", no_wrap=True, max_width=_KIND_WIDTH)
    table.add_column("drafting", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _number(value: float | None, digits: int) -> Text:
    return Text(NOTHING if value is None else f"{value:.{digits}f}")


def _speed(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def _spread(low_and_high: tuple[float, float] | None, show: Callable[[float], str]) -> Text:
    return Text("–".join(show(value) for value in low_and_high) if low_and_high else NOTHING)


def _gain(ratio: Estimate | None) -> Text:
    """A ratio: blue if it is certainly a gain, orange if it is certainly a loss."""
    if ratio is None:
        return Text(NOTHING)
    low, high = ratio.interval or (1.0, 1.0)
    return Text(f"{ratio.value:.2f}", f"bold {BLUE}" if low > 1 else ORANGE if high < 1 else "none")


def _interval(ratio: Estimate | None) -> Text:
    return _spread(ratio.interval if ratio else None, lambda value: f"{value:.2f}")


def _share(part: str) -> Callable[[SummaryRow], Text]:
    return lambda row: Text(f"{row.shares[part]:.1%}" if row.shares else NOTHING)


def _against_plain(show: Callable[[Estimate | None], Text]) -> Mapping[str, Any]:
    """Cells that are empty for plain decoding, whose own ratio is always 1."""
    return {
        "cell": lambda row: Text(NOTHING) if row.arm == PLAIN else show(row.end_to_end_ratio),
        "mean": lambda mean: Text(NOTHING) if mean.arm == PLAIN else show(mean.end_to_end_ratio),
    }


_SPEED = (
    _Column("tok/s", lambda row: Text(NOTHING if row.tokens_per_second is None else _speed(row.tokens_per_second))),
    _Column("quartiles", lambda row: _spread(row.tokens_per_second_quartiles, _speed)),
    _Column("× plain", **_against_plain(_gain)),
    _Column("95 %", **_against_plain(_interval)),
    _Column("first ms", lambda row: Text(f"{row.ttft_ms:.0f}")),
)
"""Speeds. `× plain` compares whole answers; `tok/s` is the speed of decoding."""

_REASONS = (
    _Column("α", lambda row: _number(row.alpha, 2)),
    _Column("τ", lambda row: _number(row.block_efficiency, 2)),
    _Column("draft", _share("draft")),
    _Column("verify", _share("verify")),
    _Column("back", _share("rollback")),
    _Column("other", _share("other")),
    _Column(
        "decode", lambda row: _number(row.decoding_ratio.value if row.decoding_ratio and row.arm != PLAIN else None, 2)
    ),
    _Column("theory", lambda row: _number(row.prediction.speedup if row.prediction else None, 2)),
    _Column("same", lambda row: Text(NOTHING if row.arm == PLAIN else f"{row.same_text}/{row.pairs}")),
)
"""Acceptance, where the time of decoding went, the measured and the predicted gain of decoding alone, and how many
answers have the same text as the plain one."""


BASE, GAIN, LOSS, MARK = "▒", "█", "·", "│"
"""As fast as plain, faster, slower, and the mark of plain decoding, distinguishable without colour."""

_VALUE_WIDTH = 7
_LEAST_SCALE = 1.25


def bars(rows: Iterable[SummaryRow], width: int) -> Iterator[Text]:
    """Lines of at most `width` columns: a bar for each kind and each arm other than plain."""
    shown = [row for row in rows if row.arm != PLAIN and row.end_to_end_ratio]
    if not shown:
        return
    names = max(len(row.arm.label) for row in shown)
    room = max(10, width - _KIND_WIDTH - names - _VALUE_WIDTH - 2)
    scale = max(_LEAST_SCALE, *(row.end_to_end_ratio.value for row in shown if row.end_to_end_ratio))
    mark = int((room - 1) / scale)
    yield Text(" " * (_KIND_WIDTH + names + 2 + max(0, mark - 7)) + "plain = 1", GREY)
    kind = ""
    for row in shown:
        if row.end_to_end_ratio:
            first = clean_line(row.kind)[: _KIND_WIDTH - 1] if row.kind != kind else ""
            line = Text(f"{first:<{_KIND_WIDTH}}{row.arm.label:<{names}}  ")
            value = row.end_to_end_ratio.value
            line.append_text(_bar(round(value * mark), mark, room))
            line.append(f" {value:>{_VALUE_WIDTH - 1}.2f}", BLUE if value > 1 else ORANGE if value < 1 else "none")
            yield line
            kind = row.kind


def _bar(length: int, mark: int, room: int) -> Text:
    """A bar of `length` cells in a line of `room` cells, with the mark after the first `mark` cells."""
    line = Text(BASE * min(length, mark), GREY)
    line.append(LOSS * (mark - length), ORANGE)
    line.append(MARK, "bold")
    line.append(GAIN * (length - mark), BLUE)
    line.append(" " * (room - 1 - max(length, mark)))
    return line


def legend() -> Text:
    """The meaning of the characters in a bar."""
    parts: Sequence[tuple[str, str, str]] = (
        (BASE, GREY, "as fast as plain"),
        (GAIN, BLUE, "faster"),
        (LOSS, ORANGE, "slower"),
    )
    text = Text("× plain, from the prompt to the last token:")
    for sign, colour, words in parts:
        text.append(f"  {sign * 2}", colour)
        text.append(f" {words}")
    return text
