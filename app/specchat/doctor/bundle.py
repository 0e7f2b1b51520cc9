"""`specchat doctor --bundle`: what a bug report needs, in one zip file, and nothing that was said unless asked for."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from specchat import __version__
from specchat.doctor.blanked import blanked
from specchat.doctor.engine_log import filtered, log_tail
from specchat.doctor.gathering import configuration, findings, last_trace, records, sizes
from specchat.doctor.privacy import hidden
from specchat.errors import BundleError
from specchat.settings import paths
from specchat.terminal.filter import clean_line


@dataclass(frozen=True, slots=True)
class Part:
    """One file of the bundle; `told` says what it is, `left_out` what was taken away from it, empty for nothing."""

    name: str
    text: str
    told: str
    left_out: str = ""


def pack(file: Path, *, with_conversation: bool) -> list[Part]:
    """Writes the bundle and returns its parts, a list of them being the first.

    Raises BundleError where the file exists or cannot be written; what was begun is removed.
    """
    parts = [*_parts(with_conversation)]
    parts.insert(0, Part("README.txt", "\n".join(_listing(parts, with_conversation)) + "\n", "what is in here"))
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


def print_packed(file: Path, parts: list[Part], *, as_json: bool) -> None:
    """Says what was packed and what was left out."""
    if as_json:
        packed = [{name: value for name, value in asdict(part).items() if name != "text"} for part in parts]
        sys.stdout.write(json.dumps({"type": "bundle", "file": str(file), "parts": packed}) + "\n")
        return
    sys.stdout.write(f"{clean_line(str(file))}, {file.stat().st_size / 1e3:.0f} kB, holds\n")
    for part in parts:
        sys.stdout.write(f"  {part.name:<18} {part.told}\n")
        if part.left_out:
            sys.stdout.write(f"  {'':<18} without {part.left_out}\n")
    sys.stdout.write("Look through it before you send it: it is plain text.\n")


def _parts(with_conversation: bool) -> Iterator[Part]:
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
    yield _json("records.json", records(), "what was learned of pairs: costs of passes, acceptance")
    yield _json("sizes.json", sizes(), "files and bytes in specchat's folders")
    log = log_tail(paths.worker_log())
    said = log if with_conversation else [*filtered(log)]
    yield Part(
        "engine.log",
        "".join(f"{hidden(line)}\n" for line in said),
        f"the last {len(said)} lines of the engine's log",
        "" if with_conversation else "messages of exceptions, quoted texts, and lines of unknown shape",
    )
    if (lines := last_trace()) is not None:
        kept = [hidden(line) for line in (map(json.loads, lines) if with_conversation else blanked(lines))]
        yield Part(
            "trace.jsonl",
            "".join(json.dumps(line) + "\n" for line in kept),
            "the last answer with its conversation" if with_conversation else "the rounds and times of the last answer",
            "" if with_conversation else "messages, texts, token ids, grammars and biases",
        )


def _json(name: str, value: Any, told: str, left_out: str = "") -> Part:
    return Part(name, json.dumps(hidden(value), indent=2, ensure_ascii=False) + "\n", told, left_out)


def _listing(parts: list[Part], with_conversation: bool) -> Iterator[str]:
    yield f"A bug report made by specchat {__version__} (specchat doctor --bundle)."
    yield "It holds the last conversation, as asked." if with_conversation else "It holds nothing that was said."
    for part in parts:
        yield f"{part.name}: {part.told}{f', without {part.left_out}' if part.left_out else ''}"
