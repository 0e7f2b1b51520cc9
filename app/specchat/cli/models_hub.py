"""`specchat models search`, `files` and `pull`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from specchat.cli.messages import print_json, print_rows, say
from specchat.errors import INTERRUPTED, HubError
from specchat.models.control import Stopped
from specchat.models.hub import Hub, split_reference
from specchat.models.labels import format_duration, format_parameters, format_size
from specchat.models.model_files import choose
from specchat.models.pull import Pull, PullProgress
from specchat.terminal.filter import clean_line
from specchat_assets.catalog import catalog

_POLL = 0.1
_LAST_WAIT = 3.0

_Show = Callable[[PullProgress], None]


def search(text: str, limit: int, *, as_json: bool) -> None:
    """Prints the repositories. Raises HubError."""
    repositories = Hub().search(text, limit)
    if as_json:
        print_json(*({"type": "repository", **asdict(repository)} for repository in repositories))
        return
    if not repositories:
        say(f"the hub has no GGUF repository with {text!r} in its name: try fewer words")
        return
    known = {repository.id: catalog().of(repository.id) for repository in repositories}
    itself = {name for name, model in known.items() if model and "mtp" in model.heads}
    print_rows(
        ("repository", "downloads", "parameters", "architecture", "access", "drafts"),
        (
            (
                repository.id,
                str(repository.downloads),
                format_parameters(repository.parameters),
                repository.architecture,
                "gated" if repository.gated else "",
                "for itself" if repository.id in itself else "",
            )
            for repository in repositories
        ),
    )


def files(repository: str, *, as_json: bool) -> None:
    """Prints the models of a repository and marks the one that `pull` takes by default.

    Raises HubError, also if there are none.
    """
    listing = Hub().files(split_reference(repository)[0])
    if not listing.models:
        raise HubError(f"{listing.repository} has no GGUF file: search for one whose name ends in GGUF")
    usual = choose([model for model in listing.models if not model.missing], "")
    if as_json:
        print_json(
            *(
                {
                    "type": "model",
                    "repository": listing.repository,
                    "commit": listing.commit,
                    "gated": listing.gated,
                    "quantisation": model.quantisation,
                    "size": model.size,
                    "files": [asdict(file) for file in model.files],
                    "missing": model.missing,
                    "usual": model is usual,
                }
                for model in listing.models
            )
        )
        return
    print_rows(
        ("quantisation", "size", "parts", "default", "file"),
        (
            (
                model.quantisation,
                format_size(model.size),
                str(len(model.files)),
                "*" if model is usual else "",
                f"{model.path} (incomplete)" if model.missing else model.path,
            )
            for model in listing.models
        ),
    )
    if listing.gated:
        say(f"{listing.repository} is gated: accept its conditions on its page and log in before you pull")


def pull(names: Sequence[str], *, xet: bool, as_json: bool) -> int:
    """Downloads models, prints their paths and returns the exit code. Raises HubError or FetchError."""
    hub = Hub()
    chosen = [hub.model(name) for name in names]
    pull = Pull(list(dict.fromkeys(file for model in chosen for file in model.files)), xet=xet)
    report = nullcontext(_json()) if as_json else _bars(pull) if sys.stderr.isatty() else nullcontext(_lines())
    printed = 0
    try:
        with report as show:
            pull.start()
            while not pull.wait(_POLL):
                show(pull.progress())
                printed = _print_notices(pull.progress(), printed)
            show(pull.progress())
    except KeyboardInterrupt:
        pull.cancel()
        pull.wait(_LAST_WAIT)
        done, size = format_size(pull.progress().done), format_size(pull.progress().size)
        say(f"stopped; {done} of {size} are kept, and the same command downloads the rest")
        return INTERRUPTED
    _print_notices(pull.progress(), printed)
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


@contextmanager
def _bars(pull: Pull) -> Iterator[_Show]:
    """Shows a bar for each file, and the remaining time of the whole pull."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[words]}"))
    with Progress(*columns, console=Console(stderr=True, highlight=False), auto_refresh=False) as bars:
        names = [clean_line(file.path.rsplit("/", 1)[-1]) for file in pull.files]
        tasks = [bars.add_task(name, total=file.size, words="") for name, file in zip(names, pull.files, strict=True)]

        def show(progress: PullProgress) -> None:
            for task, file in zip(tasks, progress.files, strict=True):
                words = f"{format_size(file.done)} of {format_size(file.size)}"
                if file is progress.files[-1]:
                    words += _rate(progress)
                bars.update(task, completed=file.done, words=words)
            bars.refresh()

        yield show


def _lines() -> _Show:
    """Shows a line after every tenth of the whole pull."""
    shown = -1

    def show(progress: PullProgress) -> None:
        nonlocal shown
        tenths = 10 * progress.done // max(progress.size, 1)
        if tenths > shown:
            shown = tenths
            say(f"{10 * tenths} % of {format_size(progress.size)}{_rate(progress)}")

    return show


def _json() -> _Show:
    """Shows a line of JSON every second."""
    due = 0.0

    def show(progress: PullProgress) -> None:
        nonlocal due
        if monotonic() >= due:
            due = monotonic() + 1
            print_json({"type": "progress", **asdict(progress), "done": progress.done, "size": progress.size})

    return show


def _print_notices(progress: PullProgress, printed: int) -> int:
    for line in progress.notices[printed:]:
        say(line)
    return len(progress.notices)


def _rate(progress: PullProgress) -> str:
    if not progress.rate or progress.done == progress.size:
        return ""
    left = f", {format_duration(progress.left)} left" if progress.left is not None else ""
    return f" · {format_size(progress.rate)}/s{left}"
