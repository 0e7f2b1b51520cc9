"""What this machine has to tell in a bug report, each part as a value that can be written as JSON."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from specchat.doctor import examine
from specchat.doctor.privacy import HIDDEN, is_secret_name
from specchat.doctor.report import Status
from specchat.doctor.threads import BEGIN
from specchat.doctor.threads import SECTION as THREADS
from specchat.errors import StoreError
from specchat.settings import paths

_VARIABLES = ("LANG", "LC_ALL", "TERM", "COLORTERM", "NO_COLOR", "SSH_TTY", "TMUX", "WT_SESSION", "TERM_PROGRAM")
_HUB_VARIABLES = ("HF_HOME", "HF_HUB_CACHE", "HF_ENDPOINT", "HF_HUB_OFFLINE", "HF_TOKEN")
_ONLY_WHETHER_SET = ("SSH_TTY", "TMUX", "WT_SESSION", "HF_TOKEN")
_TEXTS = ("system", "grammar", "json_schema", "logit_bias")
"""Settings that hold what the user wrote."""

_RECENT_TURNS = 20


def findings(*, with_texts: bool) -> list[dict[str, Any]]:
    """What the doctor found; what it says of a wrong configuration repeats values, which may be texts.

    Pairs stand there without the names of their models.
    """
    found = [asdict(finding) for finding in examine()]
    for finding in found:
        if finding["name"] == "configuration" and finding["status"] is Status.LACK and not with_texts:
            finding["value"] = "cannot be used (message left out)"
        if finding["section"] == THREADS and finding["name"] != BEGIN and not with_texts:
            finding["name"] = "a pair"
    return found


def configuration(*, with_texts: bool) -> dict[str, Any]:
    """The values of the configuration file and of variables; texts by their length, and no unknown settings."""
    from specchat.settings.schema import BY_KEY
    from specchat.settings.setting import ENV_PREFIX

    def shown(name: str, value: Any) -> Any:
        if name not in BY_KEY or is_secret_name(name):
            return HIDDEN
        return (
            value if with_texts or name not in _TEXTS or value is None else f"({len(str(value))} characters left out)"
        )

    variables: dict[str, Any] = {}
    for name, value in sorted(os.environ.items()):
        if name.upper().startswith(ENV_PREFIX):
            variables[name] = shown(name.upper().removeprefix(ENV_PREFIX).lower(), value)
        elif name in (*_VARIABLES, *_HUB_VARIABLES):
            variables[name] = "set" if name in _ONLY_WHETHER_SET else value
    try:
        read = tomllib.loads(paths.config_file().read_text("utf-8"))
    except FileNotFoundError:
        return {"file": None, "variables": variables}
    except (OSError, ValueError) as error:
        return {"file": f"cannot be read: {type(error).__name__}", "variables": variables}
    return {"file": {name: shown(name, value) for name, value in read.items()}, "variables": variables}


def records() -> list[dict[str, Any]]:
    """What was learned of pairs: the costs of passes, and how often drafts stand on each kind of text."""
    from specchat_engine.policy.controller import Controller
    from specchat_engine.threads.choice import read_choices

    found: list[dict[str, Any]] = []
    for file in _files(paths.cache_folder() / "pairs", "*.json"):
        try:
            kept = json.loads(file.read_text("utf-8"))
            learned = Controller.from_json(kept).to_json()
            threads = {role: choice.to_json() for role, choice in read_choices(kept.get("threads", {})).items()}
        except (OSError, ValueError, RecursionError) as error:
            found.append({"record": file.stem, "cannot be read": type(error).__name__})
            continue
        known_kinds = ("prose", "code", "free", "pasted")
        accepted = {kind: shares for kind, shares in learned["acceptance"].items() if kind in known_kinds}
        costs = {role: learned[role] for role in ("target", "drafts")}
        found.append({"record": file.stem, **costs, "threads": threads, "acceptance": accepted})
    return found


def sizes() -> dict[str, Any]:
    """Files and bytes in each of the application's folders, and what the database holds, counted."""
    folders = {"data": paths.data_folder(), "cache": paths.cache_folder(), "log": paths.log_folder()}
    told: dict[str, Any] = {
        name: {"files": len(files := [*_files(folder, "**/*")]), "bytes": sum(_size(file) for file in files)}
        for name, folder in folders.items()
    }
    return told | {"sessions.db": _size(paths.sessions_db())}


def last_trace() -> list[str] | None:
    """The lines of the newest trace that was kept, None where there is none or the database cannot be read."""
    from specchat.store.store import Store

    if not paths.sessions_db().is_file():
        return None
    try:
        store = Store.open(paths.sessions_db(), busy_seconds=1.0, read_only=True)
    except StoreError:
        return None
    try:
        kept = (store.trace(turn.message) for turn in store.turns(limit=_RECENT_TURNS))
        return next((lines for lines in kept if lines), None)
    except StoreError:
        return None
    finally:
        store.close()


def _files(folder: Path, pattern: str) -> Iterator[Path]:
    """The files below a folder that can be read, by name."""
    try:
        found: Iterable[Path] = sorted(folder.glob(pattern))
    except OSError:
        return
    for path in found:
        if path.is_file() and not path.is_symlink():
            yield path


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
