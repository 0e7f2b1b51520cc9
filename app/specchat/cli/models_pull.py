"""`specchat models pull`: progress on a terminal, lines into a pipe, JSON where asked."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from time import monotonic
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from specchat.cli.models_tables import print_json
from specchat.cli.reporting import say
from specchat.errors import INTERRUPTED
from specchat.models.hub import Hub
from specchat.models.patience import Stopped
from specchat.models.pull import Pull, PullProgress
from specchat.models.references import on_the_hub
from specchat.models.sizes import clock, in_words
from specchat.terminal.filter import clean_line

_LOOK = 0.1
_LAST_WAIT = 3.0


class _Report(Protocol):
    def show(self, progress: PullProgress) -> None:
        """Where the pull stands."""

    def end(self) -> None:
        """Nothing more comes."""


def pull(names: Sequence[str], *, xet: bool, as_json: bool) -> int:
    """Fetches the models, prints where they are, and returns the exit code. Raises HubError or FetchError."""
    hub = Hub()
    chosen = [on_the_hub(hub, name) for name in names]
    pull = Pull(list(dict.fromkeys(file for model in chosen for file in model.files)), xet=xet)
    report: _Report = _Json() if as_json else _Bars(pull) if sys.stderr.isatty() else _Lines()
    told = 0
    try:
        pull.start()
        while not pull.wait(_LOOK):
            report.show(pull.progress())
            told = _tell(pull.progress(), told)
    except KeyboardInterrupt:
        pull.cancel()
        pull.wait(_LAST_WAIT)
        report.end()
        done = in_words(pull.progress().done)
        say(f"stopped; {done} of {in_words(pull.progress().size)} are kept, and the same command fetches the rest")
        return INTERRUPTED
    report.show(pull.progress())
    report.end()
    _tell(pull.progress(), told)
    try:
        paths = pull.result()
    except Stopped:
        return INTERRUPTED
    places = dict(zip(pull.files, paths, strict=True))
    for name, model in zip(names, chosen, strict=True):
        path = places[model.files[0]]
        if as_json:
            print_json({"type": "model", "name": name, "path": str(path), "size": model.size})
        else:
            sys.stdout.write(f"{clean_line(str(path))}\n")
    return 0


def _tell(progress: PullProgress, told: int) -> int:
    for line in progress.notices[told:]:
        say(line)
    return len(progress.notices)


class _Bars:
    """A bar for each file, and how long the whole takes."""

    def __init__(self, pull: Pull) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[words]}"),
            console=Console(stderr=True, highlight=False),
            auto_refresh=False,
        )
        self._tasks: list[TaskID] = [
            self._bars.add_task(clean_line(file.path.rsplit("/", 1)[-1]), total=file.size, words="")
            for file in pull.files
        ]
        self._bars.start()

    def show(self, progress: PullProgress) -> None:
        """Draws the bars."""
        for task, file in zip(self._tasks, progress.files, strict=True):
            words = f"{in_words(file.done)} of {in_words(file.size)}"
            if file is progress.files[-1]:
                words += _pace(progress)
            self._bars.update(task, completed=file.done, words=words)
        self._bars.refresh()

    def end(self) -> None:
        """Leaves the bars as they are."""
        self._bars.stop()


class _Lines:
    """A line for each tenth."""

    def __init__(self) -> None:
        self._tenths = -1

    def show(self, progress: PullProgress) -> None:
        """Says it when another tenth is there."""
        tenths = 10 * progress.done // max(progress.size, 1)
        if tenths > self._tenths:
            self._tenths = tenths
            say(f"{10 * tenths} % of {in_words(progress.size)}{_pace(progress)}")

    def end(self) -> None:
        """Nothing was left open."""


class _Json:
    """A line of JSON every second."""

    def __init__(self) -> None:
        self._next = 0.0

    def show(self, progress: PullProgress) -> None:
        """Prints it when a second has gone by."""
        if monotonic() >= self._next:
            self._next = monotonic() + 1
            print_json({"type": "progress", **asdict(progress), "done": progress.done, "size": progress.size})

    def end(self) -> None:
        """Nothing was left open."""


def _pace(progress: PullProgress) -> str:
    if not progress.rate or progress.done == progress.size:
        return ""
    left = f", {clock(progress.left)} left" if progress.left is not None else ""
    return f" · {in_words(progress.rate)}/s{left}"
