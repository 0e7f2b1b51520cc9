"""Ollama's models: a manifest for each name, whose model layer is a GGUF file among the blobs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MODEL = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_REGISTRY, _LIBRARY = "registry.ollama.ai", "library"
_LARGEST_MANIFEST = 2**20


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """A name such as `llama3.2:3b`, and its file."""

    name: str
    path: Path
    size: int
    problem: str


def ollama_models(folder: Path) -> Iterator[OllamaModel]:
    """What Ollama keeps below this folder."""
    manifests = folder / "manifests"
    for manifest in sorted(path for path in manifests.glob("*/**/*") if path.is_file()):
        parts = manifest.relative_to(manifests).parts
        if len(parts) < 3 or any(part.startswith(".") for part in parts):
            continue
        name = _name(parts)
        digest = _digest(manifest)
        if digest is None:
            yield OllamaModel(
                name, manifest, 0, f"its manifest {manifest} has no model layer: pull it again with Ollama"
            )
            continue
        blob = folder / "blobs" / f"sha256-{digest}"
        if blob.is_file():
            yield OllamaModel(name, blob, blob.stat().st_size, "")
        else:
            yield OllamaModel(name, blob, 0, f"its blob {blob.name} is missing: pull it again with Ollama")


def _name(parts: tuple[str, ...]) -> str:
    """`library` and Ollama's own registry are left away, as in Ollama's commands."""
    *path, tag = parts
    if path[0] == _REGISTRY:
        path = path[2:] if path[1] == _LIBRARY else path[1:]
    return f"{'/'.join(path)}:{tag}"


def _digest(manifest: Path) -> str | None:
    try:
        if manifest.stat().st_size > _LARGEST_MANIFEST:
            return None
        layers = json.loads(manifest.read_text("utf-8"))["layers"]
        for layer in layers:
            match = _DIGEST.fullmatch(layer["digest"]) if layer["mediaType"] == _MODEL else None
            if match:
                return match[1]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return None
