"""The files of a model: where the hub has them, which ones belong together, and what their names say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar
from urllib.parse import quote

from specchat.models.environment import hub_environment

PREFERRED = ("Q4_K_M", "UD-Q4_K_M", "UD-Q4_K_XL", "MXFP4", "Q4_K_S", "Q4_0", "IQ4_XS", "Q5_K_M", "Q8_0", "F16", "BF16")
"""The quantisations to choose from when the user names none, best choice first: small, and close to the full model."""

_MOST_MISSING = 8
"""How many missing parts are listed; a hostile file name can claim 99,999 of them."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_GIT_OID = re.compile(r"[0-9a-f]{40}")
_QUANTISATION = re.compile(
    r"(?<![A-Za-z0-9])((?:UD-)?(?:I?Q\d+(?:_[0-9A-Z]+)*|TQ\d_\d|MXFP4(?:_MOE)?|NVFP4|BF16|FP?16|FP?32))(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_PART = re.compile(r"^(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf$", re.IGNORECASE)
_NO_MODEL = re.compile(r"(^|[/._-])(mmproj|imatrix)([/._-]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository at a commit.

    `digest` is its SHA-256, or git's SHA-1 for a small file that is stored in git itself. `size` is in bytes. Raises
    ValueError for a path that could lead out of a folder, and for a digest that could.
    """

    repository: str
    commit: str
    path: str
    size: int
    digest: str

    def __post_init__(self) -> None:
        if not is_digest(self.digest) or not is_safe_path(self.path):
            raise ValueError(f"{self.path!r} is not a file of a repository")

    @property
    def url(self) -> str:
        """The address for plain HTTPS, which every mirror serves."""
        return f"{hub_environment().endpoint}/{self.repository}/resolve/{self.commit}/{quote(self.path)}"

    @property
    def is_large(self) -> bool:
        """True if the file is in the hub's storage for large files instead of in git."""
        return bool(_SHA256.fullmatch(self.digest))

    @property
    def xet_token_url(self) -> str:
        """The address at which the hub issues tokens for its Xet storage."""
        return f"{hub_environment().endpoint}/api/models/{self.repository}/xet-read-token/{self.commit}"


def is_digest(value: object) -> bool:
    """True for a SHA-256 or a git object name in hexadecimal. Digests become file names."""
    return isinstance(value, str) and bool(_SHA256.fullmatch(value) or _GIT_OID.fullmatch(value))


def is_safe_path(path: str) -> bool:
    """True if a path from a repository stays inside the folder that it is joined to, on every system."""
    parts = path.split("/")
    plain = not any(ord(letter) < 32 or letter in '\\:*?"<>|' for letter in path)
    return plain and len(path) < 512 and all(part not in ("", ".", "..") for part in parts)


class Sized(Protocol):
    """A file with a name and a size."""

    @property
    def path(self) -> str:
        """The path inside its folder or repository, with slashes."""

    @property
    def size(self) -> int:
        """The size in bytes."""


File = TypeVar("File", bound=Sized)


@dataclass(frozen=True, slots=True)
class ModelFileGroup(Generic[File]):
    """One model: a single file, or all parts of a split one in order. `missing` names parts that are not there."""

    files: tuple[File, ...]
    quantisation: str
    missing: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The path of the first part."""
        return self.files[0].path

    @property
    def size(self) -> int:
        """The size of all parts together, in bytes."""
        return sum(file.size for file in self.files)


def quantisation(path: str) -> str:
    """The quantisation in a file's name or else in its folders' names, in capitals; empty if there is none."""
    for part in reversed(path.removesuffix(".gguf").split("/")):
        names = _QUANTISATION.findall(part)
        if names:
            name: str = names[-1].upper()
            return name.replace("FP", "F") if name.startswith("FP") else name
    return ""


def group(files: Iterable[File]) -> list[ModelFileGroup[File]]:
    """The language models among the files, smallest first. Image projectors and importance matrices are left out."""
    sets: dict[tuple[str, int], dict[int, File]] = {}
    for file in files:
        if file.path.lower().endswith(".gguf") and not _NO_MODEL.search(file.path):
            match = _PART.match(file.path)
            stem, number, count = (match[1], int(match[2]), int(match[3])) if match else (file.path, 1, 1)
            sets.setdefault((stem, count), {})[number] = file
    groups = []
    for (stem, count), parts in sets.items():
        missing = tuple(
            f"{stem}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1) if number not in parts
        )
        ordered = tuple(parts[number] for number in sorted(parts))
        groups.append(ModelFileGroup(ordered, quantisation(ordered[0].path), missing[:_MOST_MISSING]))
    return sorted(groups, key=lambda group: (group.size, group.path))


def choose(groups: Iterable[ModelFileGroup[File]], wanted: str) -> ModelFileGroup[File] | None:
    """The model with this quantisation or file name, or the preferred one if `wanted` is empty; None if none fits.

    A quantisation that is not there may be there as its dynamic variant: UD-Q4_K_M for Q4_K_M.
    """
    models = list(groups)
    if not wanted:
        by_quantisation = {model.quantisation: model for model in reversed(models)}
        preferred = next((by_quantisation[name] for name in PREFERRED if name in by_quantisation), None)
        return preferred or (models[0] if models else None)
    for model in models:
        name = model.path.rsplit("/", 1)[-1]
        if wanted.upper() == model.quantisation or wanted in (model.path, name, name.removesuffix(".gguf")):
            return model
    return next((model for model in models if model.quantisation == f"UD-{wanted.upper()}"), None)
