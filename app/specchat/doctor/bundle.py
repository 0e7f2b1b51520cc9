"""`specchat doctor --bundle`: a zip file for a bug report, without conversations unless the user asks for them."""

from __future__ import annotations

import json
import os
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from specchat import __version__
from specchat.doctor import examine
from specchat.doctor.privacy import HIDDEN, blanked, filtered, hidden, is_secret_name, log_tail
from specchat.doctor.report import Status
from specchat.errors import BundleError, FileTooLarge, StoreError
from specchat.files import CONFIG_BYTES, bounded_text
from specchat.settings import paths
from specchat.settings.schema import BY_KEY
from specchat.settings.setting import ENV_PREFIX
from specchat.store.store import Store
from specchat.terminal.filter import clean_line
from specchat_engine.policy.controller import Controller

_VARIABLES = ("LANG", "LC_ALL", "TERM", "COLORTERM", "NO_COLOR", "SSH_TTY", "TMUX", "WT_SESSION", "TERM_PROGRAM")
_HUB_VARIABLES = ("HF_HOME", "HF_HUB_CACHE", "HF_ENDPOINT", "HF_HUB_OFFLINE", "HF_TOKEN")
_ONLY_WHETHER_SET = ("SSH_TTY", "TMUX", "WT_SESSION", "HF_TOKEN")
_TEXTS = ("system", "grammar", "json_schema", "logit_bias")
"""Settings that contain text by the user."""

_RECENT_TURNS = 20


def findings(*, with_texts: bool) -> list[dict[str, Any]]:
    """The doctor's findings. Without texts, the message about a wrong configuration, which may repeat values, is left
    out.
    """
    described = [asdict(finding) for finding in examine()]
    for finding in described:
        if finding["name"] == "configuration" and finding["status"] is Status.LACK and not with_texts:
            finding["value"] = "cannot be used (message left out)"
    return described


def configuration(*, with_texts: bool) -> dict[str, Any]:
    """The values of the configuration file and of variables. Texts appear as their length, unknown settings hidden."""

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
        read = tomllib.loads(bounded_text(paths.config_file(), CONFIG_BYTES))
    except FileNotFoundError:
        return {"file": None, "variables": variables}
    except (OSError, ValueError, FileTooLarge) as error:
        return {"file": f"cannot be read: {type(error).__name__}", "variables": variables}
    return {"file": {name: shown(name, value) for name, value in read.items()}, "variables": variables}


def records() -> list[dict[str, Any]]:
    """The records of pairs: costs of passes, and how many drafted tokens were tested on each kind of text."""
    described: list[dict[str, Any]] = []
    for file in _files(paths.cache_folder() / "pairs", "*.json"):
        try:
            record = json.loads(file.read_text("utf-8"))
            learned = Controller.from_json(record).to_json()
        except (OSError, ValueError, RecursionError) as error:
            described.append({"record": file.stem, "cannot be read": type(error).__name__})
            continue
        known_kinds = ("prose", "code", "free", "pasted")
        accepted = {kind: shares for kind, shares in learned["acceptance"].items() if kind in known_kinds}
        costs = {role: learned[role] for role in ("target", "drafts")}
        described.append({"record": file.stem, **costs, "acceptance": accepted})
    return described


def sizes() -> dict[str, Any]:
    """The number of files and bytes in each of the application's folders, and the size of the database."""
    folders = {"data": paths.data_folder(), "cache": paths.cache_folder(), "log": paths.log_folder()}
    counted: dict[str, Any] = {
        name: {"files": len(files := [*_files(folder, "**/*")]), "bytes": sum(_size(file) for file in files)}
        for name, folder in folders.items()
    }
    return counted | {"sessions.db": _size(paths.sessions_db())}


def last_trace() -> list[str] | None:
    """The lines of the newest stored trace; None if there is none or the database cannot be read."""
    if not paths.sessions_db().is_file():
        return None
    try:
        store = Store.open(paths.sessions_db(), busy_seconds=1.0, read_only=True)
    except StoreError:
        return None
    try:
        traces = (store.trace(turn.message) for turn in store.turns(limit=_RECENT_TURNS))
        return next((lines for lines in traces if lines), None)
    except StoreError:
        return None
    finally:
        store.close()


def _files(folder: Path, pattern: str) -> Iterator[Path]:
    """The readable files below a folder, by name."""
    try:
        files: Iterable[Path] = sorted(folder.glob(pattern))
    except OSError:
        return
    for path in files:
        if path.is_file() and not path.is_symlink():
            yield path


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class BundleFile:
    """One file of the bundle. `description` says what it is; `left_out` says what was removed, and may be empty."""

    name: str
    text: str
    description: str
    left_out: str = ""


def pack(file: Path, *, with_conversation: bool) -> list[BundleFile]:
    """Writes the bundle and returns its parts. The first one lists the others.

    Raises BundleError if the file exists or cannot be written; an incomplete file is removed.
    """
    parts = [*_parts(with_conversation)]
    parts.insert(0, BundleFile("README.txt", "\n".join(_listing(parts, with_conversation)) + "\n", "what is in here"))
    try:
        stream = file.open("xb")
    except FileExistsError:
        raise BundleError(f"{file} exists: give another name, or remove it") from None
    except OSError as error:
        raise BundleError(f"{file} cannot be written: {error.strerror or error}; give another name") from None
    try:
        with stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for part in parts:
                archive.writestr(part.name, part.text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        file.unlink(missing_ok=True)
        raise BundleError(f"{file} cannot be written: {error.strerror or error}; free some space") from None
    return parts


def print_packed(file: Path, parts: list[BundleFile], *, as_json: bool) -> None:
    """Prints what was packed and what was left out."""
    if as_json:
        packed = [{"name": part.name, "told": part.description, "left_out": part.left_out} for part in parts]
        sys.stdout.write(json.dumps({"type": "bundle", "file": str(file), "parts": packed}) + "\n")
        return
    sys.stdout.write(f"{clean_line(str(file))}, {file.stat().st_size / 1e3:.0f} kB, holds\n")
    for part in parts:
        sys.stdout.write(f"  {part.name:<18} {part.description}\n")
        if part.left_out:
            sys.stdout.write(f"  {'':<18} without {part.left_out}\n")
    sys.stdout.write("Look through it before you send it: it is plain text.\n")


def _parts(with_conversation: bool) -> Iterator[BundleFile]:
    texts = "" if with_conversation else "system prompt, grammars and biases; "
    yield _json(
        "findings.json", findings(with_texts=with_conversation), "versions, devices, folders, terminal", "home folders"
    )
    yield _json(
        "config.json",
        configuration(with_texts=with_conversation),
        "config.toml and variables",
        f"{texts}secrets and settings that specchat does not know",
    )
    yield _json("records.json", records(), "the records of pairs: costs of passes, acceptance")
    yield _json("sizes.json", sizes(), "files and bytes in specchat's folders")
    log = log_tail(paths.worker_log())
    shown = log if with_conversation else [*filtered(log)]
    yield BundleFile(
        "engine.log",
        "".join(f"{hidden(line)}\n" for line in shown),
        f"the last {len(shown)} lines of the engine's log",
        "" if with_conversation else "messages of exceptions, quoted texts, and lines of unknown shape",
    )
    if (lines := last_trace()) is not None:
        trace = [hidden(line) for line in (map(json.loads, lines) if with_conversation else blanked(lines))]
        yield BundleFile(
            "trace.jsonl",
            "".join(json.dumps(line) + "\n" for line in trace),
            "the last answer with its conversation" if with_conversation else "the rounds and times of the last answer",
            "" if with_conversation else "messages, texts, token ids, grammars and biases",
        )


def _json(name: str, value: Any, description: str, left_out: str = "") -> BundleFile:
    return BundleFile(name, json.dumps(hidden(value), indent=2, ensure_ascii=False) + "\n", description, left_out)


def _listing(parts: list[BundleFile], with_conversation: bool) -> Iterator[str]:
    yield f"A bug report made by specchat {__version__} (specchat doctor --bundle)."
    yield "It holds the last conversation, as asked." if with_conversation else "It holds nothing that was said."
    for part in parts:
        yield f"{part.name}: {part.description}{f', without {part.left_out}' if part.left_out else ''}"
