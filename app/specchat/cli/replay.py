"""`specchat replay`: play back a recorded turn at any speed, or export it. No model is needed."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.cli.messages import say, show_progress
from specchat.cli.outputs import JsonOutput, Output, output_for
from specchat.errors import INTERRUPTED, WRONG_USAGE, ConfigError
from specchat.terminal.filter import clean
from specchat.traces.timeline import Playhead, Timeline
from specchat.traces.trace import Trace, lines_of, read_trace

if TYPE_CHECKING:
    from specchat.settings.schema import Config

STANDARD_INPUT = Path("-")
MOST = 1000.0
LONGEST_SLEEP = 60.0
MOMENT, PAUSE = 0.5, 0.1
"""Seconds until progress is shown, and between two times."""
SOON = 1e-4
"""A round that is due in fewer seconds than this is due now."""


def read_speed(word: str) -> float:
    """The factor that `--speed` names; `max` is infinity. Raises ConfigError for anything else."""
    if word == "max":
        return math.inf
    try:
        speed = float(word)
    except ValueError:
        speed = math.nan
    if not 0 < speed <= MOST:
        raise ConfigError(f"--speed is {word}: use a factor up to {MOST:g}, such as 2 or 0.5, or max")
    return speed


def read_turns(path: Path, turn: int | None) -> list[Trace]:
    """The turns of a file, or of standard input for `-`; only one if `turn`, counted from 1, is given."""
    try:
        if path == STANDARD_INPUT:
            traces = read_trace(lines_of(sys.stdin.buffer), "standard input", _progress())
        else:
            traces = read_trace(path, on_read=_progress(path.stat().st_size if path.is_file() else 0))
    finally:
        show_progress(sys.stderr, "")
    if turn is None:
        return traces
    if not 1 <= turn <= len(traces):
        raise ConfigError(f"--turn is {turn}: {path} has {len(traces)} turn{'' if len(traces) == 1 else 's'}")
    return [traces[turn - 1]]


def _progress(total: int = 0) -> Callable[[int], None]:
    """Shows how many of the bytes were read, if reading takes more than a moment; 0 is an unknown total."""
    due = time.monotonic() + MOMENT
    of = f" of {total / 2**20:.0f}" if total else ""

    def show(size: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            show_progress(sys.stderr, f"reading the trace: {size / 2**20:.0f}{of} MiB")
            due = time.monotonic() + PAUSE

    return show


def replay(traces: Sequence[Trace], speed: float, *, as_json: bool, raw: bool = False) -> int:
    """Plays turns on a terminal, or prints them at once into a pipe. Returns the exit code.

    A trace may come from anyone, so control characters are filtered in a pipe too, unless it is `raw`.
    """
    live = sys.stdout.isatty() and not as_json
    for trace in traces:
        output = output_for(sys.stdout, as_json=as_json, filtered=not raw)
        if isinstance(output, JsonOutput):
            for line in trace.lines():
                output.print(line)
            continue
        if live and trace.question:
            _show_question(trace)
        if play(trace, output, speed if live else math.inf) == INTERRUPTED:
            return INTERRUPTED
    return 0


def replay_on_screen(traces: Sequence[Trace], config: Config, source: str) -> int:
    """Plays turns in the terminal app. Returns the exit code."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("--tui needs a terminal, and a trace that is a file: omit --tui in scripts and pipes")
        return WRONG_USAGE
    from specchat.cli.chat import Looks

    with Looks(config) as looks:
        from specchat.tui.app import ReplayApp
    app = ReplayApp(traces, source, looks.appearance(), looks.background)
    app.run()
    return app.return_code or 0


def play(
    trace: Trace,
    output: Output,
    speed: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Hands each round to the output when it is due. Ctrl+C ends the turn with the statistics so far."""
    timeline = Timeline(trace)
    head = Playhead(timeline.duration, speed).played(clock())
    output.start(trace.start)
    if trace.opening:
        output.round(trace.opening)
    shown = 0
    try:
        for event in trace.rounds:
            while (left := head.wait(timeline.at(shown + 1), clock()) or 0.0) > SOON:
                sleep(min(left, LONGEST_SLEEP))
            output.round(event)
            shown += 1
    except KeyboardInterrupt:
        output.end({"type": "end", "reason": "cancelled", "text": "", "stats": trace.stats_after(shown)})
        return INTERRUPTED
    output.end({"type": "end", "reason": trace.reason, "text": trace.text, "stats": trace.stats})
    if trace.error is not None:
        say(f"the turn failed: {trace.error}")
    elif trace.end is None:
        say("the recording stops here: the trace has no end")
    return 0


def export_traces(traces: Sequence[Trace], path: Path, *, overwrite: bool) -> None:
    """Writes the turns to a file; its extension selects the format. Raises ExportError."""
    from specchat.traces.exports import conversation, export_session, kind_of

    export_session(kind_of(path), "", conversation(traces), traces, path, overwrite=overwrite)
    say(f"wrote {path}")


def _show_question(trace: Trace) -> None:
    """Prints the question before its answer. Only terminals get it; a pipe gets the answer alone, as from `run`."""
    from rich.console import Console
    from rich.text import Text

    Console(file=sys.stdout, highlight=False, soft_wrap=True).print(Text(f"› {clean(trace.question)}", "dim"))
