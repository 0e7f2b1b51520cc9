"""Real models for benchmarks and some tests: where the hub has them, and how they are recognised in a folder."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RealModel:
    """A GGUF file of `size` bytes. `source` is its repository and file on the hub, or what it is."""

    source: str
    size: int
    sha256: str


TARGET = RealModel(
    "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF:qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    1117320768,
    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)
DRAFT = RealModel(
    "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF:qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    491400064,
    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
)
SMALL = RealModel(
    "SmolLM2-135M-Instruct in Q4_1, any file with this SHA-256",
    98362432,
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def find(folder: Path, model: RealModel) -> Path:
    """Returns the file in `folder` that is this model, whatever its name.

    Raises FileNotFoundError, with the model's source and SHA-256, if no file has that content.
    """
    for path in sorted(folder.glob("*.gguf")):
        if path.stat().st_size == model.size:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() == model.sha256:
                    return path
    raise FileNotFoundError(f"{folder} has no file of {model.source} (SHA-256 {model.sha256})")
