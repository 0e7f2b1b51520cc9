"""Projectors: files beside a model ("mmproj") that turn images into embeddings for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from specchat_engine.errors import HeaderError
from specchat_engine.gguf.header import Header
from specchat_engine.gguf.reader import read_file

_ARCHITECTURE: Final = "clip"
_ORDER: Final = ("f16", "bf16", "q8_0", "f32")
_PRECISION: Final = re.compile(r"(?:^|[-_.])(f16|bf16|f32|q\d_\w+)$")


def read_projector(path: Path) -> Header:
    """The header of a projector for images. Raises ModelFileError or HeaderError for anything else."""
    header = read_file(path)
    if header.architecture != _ARCHITECTURE:
        raise HeaderError(f"{path} is a model and no projector: name the mmproj file that belongs to the model")
    if header.metadata.get("clip.has_vision_encoder") is not True:
        raise HeaderError(f"{path} is a projector for sound alone: it reads no images")
    return header


def projector_beside(model: Path) -> Path | None:
    """The projector that lies in a model's folder, None if there is none.

    Its name has `mmproj` in it, and otherwise says nothing or a part of the model's name. Of several precisions F16 is
    taken, then BF16.
    """
    stem = _letters(model.stem)
    try:
        found = [path for path in model.parent.glob("*.gguf") if "mmproj" in path.name.lower() and path.is_file()]
    except OSError:
        return None
    fitting = [path for path in found if path != model and (_bare(path) in ("", "model") or _bare(path) in stem)]
    return min(fitting, key=_rank, default=None)


def _bare(path: Path) -> str:
    """What the name of a projector says of its model."""
    return _letters(_PRECISION.sub("", path.stem.lower().replace("mmproj", "")))


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _rank(path: Path) -> tuple[int, int, str]:
    """The one that says most of the model comes first, then the usual precision."""
    found = _PRECISION.search(path.stem.lower())
    precision = found[1] if found else "f16"
    return -len(_bare(path)), _ORDER.index(precision) if precision in _ORDER else len(_ORDER), path.name
