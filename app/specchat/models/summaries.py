"""What the headers of models say in short, kept so that a second listing reads none of them again."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from specchat.files import replace_text
from specchat.settings.paths import cache_folder
from specchat_engine.errors import ModelFileError
from specchat_engine.gguf import Header
from specchat_engine.gguf.files import read_model

_log = logging.getLogger(__name__)
_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Summary:
    """A model in short. `problem` says why it cannot be used; the rest is then empty."""

    title: str = ""
    architecture: str = ""
    parameters: int = 0
    quantisation: str = ""
    context: int = 0
    layers: int = 0
    vocabulary: int = 0
    tokenizer: str = ""
    has_template: bool = False
    problem: str = ""


class Summaries:
    """Headers in short, by path; one is read again when the file's size or time has changed."""

    def __init__(self) -> None:
        self._file = cache_folder() / "headers.json"
        self._kept = self._read()
        self._changed = False

    def of(self, path: Path) -> Summary:
        """A model's header in short; `path` is its first file."""
        try:
            stat = path.stat()
        except OSError as error:
            return Summary(problem=f"{path} cannot be read: {error.strerror or error}")
        key, mark = str(path), [stat.st_size, stat.st_mtime_ns]
        kept = self._kept.get(key)
        if isinstance(kept, dict) and kept.get("mark") == mark and (known := _from(kept.get("summary"))) is not None:
            return known
        try:
            summary = summarise(read_model(path))
        except ModelFileError as error:
            summary = Summary(problem=str(error))
        self._kept[key] = {"mark": mark, "summary": asdict(summary)}
        self._changed = True
        return summary

    def keep(self) -> None:
        """Writes what was new, and forgets files that are gone; a folder that cannot be written costs only time."""
        if not self._changed:
            return
        self._kept = {path: kept for path, kept in self._kept.items() if Path(path).exists()}
        try:
            replace_text(self._file, json.dumps({"schema": _SCHEMA, "headers": self._kept}))
        except OSError as error:
            _log.warning("what headers say could not be kept: %s", error)

    def _read(self) -> dict[str, Any]:
        try:
            kept = json.loads(self._file.read_text("utf-8"))
            if kept["schema"] == _SCHEMA and isinstance(kept["headers"], dict):
                return dict(kept["headers"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            pass
        return {}


def summarise(header: Header) -> Summary:
    """A header in short."""
    return Summary(
        title=header.name or "",
        architecture=header.architecture,
        parameters=header.n_params,
        quantisation=header.quantisation,
        context=header.n_ctx_train,
        layers=header.layers,
        vocabulary=header.n_vocab,
        tokenizer=" ".join(part for part in (header.tokenizer, header.pre_tokenizer) if part),
        has_template=header.chat_template is not None,
    )


def _from(kept: object) -> Summary | None:
    """A kept summary, None where something else stands in its place."""
    if not isinstance(kept, Mapping) or kept.keys() != {field.name for field in fields(Summary)}:
        return None
    if any(type(kept[field.name]).__name__ != field.type for field in fields(Summary)):
        return None
    return Summary(**kept)
