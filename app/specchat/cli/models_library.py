"""`specchat models ls`, `rm`, `alias`, `default` and `add-folder`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

from specchat.cli.models_tables import print_json, print_rows
from specchat.cli.reporting import say
from specchat.errors import FAILED, WRONG_USAGE
from specchat.models.finding import find, find_path
from specchat.models.library import Entry, models
from specchat.models.removal import check_removable, remove
from specchat.models.shelf import Pair, keep_shelf, read_shelf
from specchat.models.sizes import count, in_words
from specchat.settings.paths import expanded


def ls(*, as_json: bool) -> None:
    """Prints the models on this machine, usable ones first. Raises LibraryError."""
    entries = sorted(models(), key=lambda entry: bool(entry.problem))
    if as_json:
        print_json(*(_as_json(entry) for entry in entries))
        return
    if not entries:
        say("no model but the built-in pair: `specchat models search TEXT` finds some, `models add-folder` shows yours")
        return
    print_rows(("name", "size", "quantisation", "parameters", "context", "about"), (_row(entry) for entry in entries))


def rm(name: str, *, yes: bool) -> int:
    """Removes a model, after asking; returns the exit code. Raises LibraryError."""
    found = find(name)
    check_removable(found)
    if not yes:
        if not sys.stdin.isatty():
            say(f"removing {found.name} has to be confirmed: add --yes")
            return WRONG_USAGE
        sys.stderr.write(f"remove {found.name} ({in_words(found.size)}) from {found.files[0].parent}? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            say("nothing was removed")
            return FAILED
    remove(found)
    say(f"removed {found.name}, {in_words(found.size)}")
    return 0


def alias(name: str, target: str, *, remove: bool) -> int:
    """Adds or forgets an alias; returns the exit code. Raises LibraryError."""
    if bool(target) == remove:
        say("give an alias and a model's name, or an alias and --remove")
        return WRONG_USAGE
    shelf = read_shelf()
    keep_shelf(shelf.without_alias(name) if remove else shelf.with_alias(name, _lasting(target)))
    return 0


def default(target: str, draft: str) -> None:
    """Chooses the pair of commands without -m, the built-in one where no target is named. Raises LibraryError."""
    pair = Pair(_lasting(target), _lasting(draft) if draft else "") if target else None
    keep_shelf(read_shelf().with_default(pair))
    say(f"without -m, {pair.target if pair else 'the built-in pair'} answers from now on")


def add_folder(folder: Path) -> None:
    """Adds a folder in which to look. Raises LibraryError."""
    keep_shelf(read_shelf().with_folder(folder))
    inside = sum(expanded(folder).absolute() in entry.path.absolute().parents for entry in models())
    say(f"{folder} is looked into from now on: {inside} model{'' if inside == 1 else 's'}")


def _lasting(name: str) -> str:
    """A name that will mean the same from another folder. Raises LibraryError for one that means nothing now."""
    path = find_path(name)
    return str(path.absolute()) if path.is_file() and name.lower().endswith(".gguf") else find(name).name


def _row(entry: Entry) -> tuple[str, ...]:
    about = entry.problem or entry.summary.title
    return (
        entry.name,
        in_words(entry.size),
        entry.quantisation,
        count(entry.summary.parameters),
        str(entry.summary.context or ""),
        f"({', '.join(entry.aliases)}) {about}" if entry.aliases else about,
    )


def _as_json(entry: Entry) -> dict[str, object]:
    return {
        "type": "model",
        "name": entry.name,
        "source": entry.found.source,
        "files": [str(file) for file in entry.found.files],
        "size": entry.size,
        "aliases": list(entry.aliases),
        **asdict(entry.summary),
        "quantisation": entry.quantisation,
        "problem": entry.problem,
    }
