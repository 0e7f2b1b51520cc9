"""How `bench` reports: tables, bars and a recommendation, or JSON, or another tool's command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console
from rich.text import Text

from specchat.bench.chart import chart
from specchat.bench.comparison import Comparison
from specchat.bench.document import Benchmark, Conditions
from specchat.bench.exports import ExportTarget, export
from specchat.bench.samples import Sample
from specchat.bench.summary import in_words
from specchat.bench.tables import bars, comparison_tables, hindsight_table, legend, tables
from specchat.cli.messages import print_json, say, show_progress
from specchat.terminal.filter import clean_line
from specchat.terminal.palette import GREY

_WIDTH = 132
"""Columns in a file or a pipe."""


class BenchProgress:
    """The progress of a run and the time that is left, in the last row of a terminal."""

    def __init__(self, planned: int, stream: TextIO) -> None:
        self._planned = planned
        self._done = 0
        self._began = monotonic()
        self._stream = stream

    def __enter__(self) -> Self:
        show_progress(self._stream, "warming up")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        show_progress(self._stream, "")

    def advance(self, sample: Sample) -> None:
        """Counts one more answer."""
        self._done += 1
        seconds = (monotonic() - self._began) / self._done * (self._planned - self._done)
        left = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
        what = f"{clean_line(sample.kind)}, {sample.arm.label}, temperature {sample.temperature:g}"
        show_progress(self._stream, f"{self._done} of {self._planned} answers, about {left} left   {what}")


def print_benchmark(benchmark: Benchmark, svg: Path | None, tool: ExportTarget | None, *, as_json: bool) -> None:
    """Prints the tables and the recommendation, then writes the chart.

    With a tool, only its command line goes to standard output, and the tables go to standard error. Raises OSError if
    the chart cannot be written.
    """
    if as_json:
        print_json(benchmark.to_json())
    else:
        _print_text(benchmark, _console(sys.stderr if tool else sys.stdout), tool)
    if tool:
        _print_export(benchmark, tool)
    if svg:
        svg.write_text(chart(benchmark), "utf-8")


def print_comparison(comparison: Comparison, first: Path, second: Path) -> None:
    """Prints what became faster, and in which conditions the runs differ."""
    console = _console(sys.stdout)
    console.print(Text(f"A {clean_line(str(first))}\nB {clean_line(str(second))}"))
    for name, (a, b) in comparison.differences.items():
        console.print(Text(clean_line(f"{name}: {a} in A, {b} in B"), GREY))
    for table in comparison_tables(comparison):
        console.print()
        console.print(table)
    if comparison.only_a or comparison.only_b:
        left_out = f"{comparison.only_a} answers of A and {comparison.only_b} of B have no counterpart"
        console.print(Text(left_out, GREY))


def _console(stream: TextIO) -> Console:
    return Console(file=stream, highlight=False, width=None if stream.isatty() else _WIDTH)


def _print_text(benchmark: Benchmark, console: Console, tool: ExportTarget | None) -> None:
    conditions = benchmark.conditions
    longest = f"answers of up to {conditions.max_tokens} tokens"
    console.print(Text(f"{clean_line(benchmark.pair)}   seed {conditions.seed}   {longest}"))
    console.print(Text(_scope(conditions), GREY))
    if because := conditions.machine.get("threads_because", {}).get("threads"):
        console.print(Text(clean_line(f"threads: {because}"), GREY))
    for temperature in benchmark.temperatures:
        console.print()
        for table in tables(benchmark, temperature, console):
            console.print(table)
            console.print()
        hindsight = hindsight_table(benchmark, temperature)
        if hindsight is not None:
            console.print(hindsight)
            console.print()
        shown = [row for row in benchmark.rows if row.temperature == temperature]
        lines = [*bars(shown, min(console.width, 100))]
        if lines:
            console.print(legend())
        for line in lines:
            console.print(line, no_wrap=True, crop=True)
    console.print()
    megabytes = benchmark.peak_memory_bytes / 2**20
    console.print(
        Text(f"{len(benchmark.samples)} answers in {benchmark.seconds:.0f} s, peak memory {megabytes:.0f} MiB", GREY)
    )
    choice = benchmark.choice
    if choice and not tool:
        console.print(Text(in_words(choice), "bold"), soft_wrap=True)


def _scope(conditions: Conditions) -> str:
    """What was compared on what, in one line."""
    prompts = sum(len(texts) for texts in conditions.prompts.values())
    versions, machine = conditions.versions, conditions.machine
    return clean_line(
        f"{len(conditions.arms)} arms in turn, {prompts} prompts of {len(conditions.prompts)} kinds, "
        f"repeats {conditions.repeats}; llama.cpp {versions['llama.cpp']}, {_threads(machine)}"
    )


def _threads(machine: Mapping[str, Any]) -> str:
    own, drafts = machine["threads"], machine.get("threads_draft")
    return f"{own} threads" + (f", {drafts} of the draft" if drafts not in (None, own) else "")


def _print_export(benchmark: Benchmark, tool: ExportTarget) -> None:
    exported = export(benchmark, tool)
    if exported is None:
        say("no arm was compared with plain decoding, so there are no settings to print")
        return
    if exported.note:
        say(exported.note)
    sys.stdout.write(exported.command + "\n")
    sys.stdout.flush()
