"""What file names tell: the quantisation, and which files are parts of one model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

_QUANTISATION = re.compile(
    r"(?<![A-Za-z0-9])((?:UD-)?(?:I?Q\d+(?:_[0-9A-Z]+)*|TQ\d_\d|MXFP4(?:_MOE)?|NVFP4|BF16|FP?16|FP?32))(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_PART = re.compile(r"^(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf$", re.IGNORECASE)
_NO_MODEL = re.compile(r"(^|[/._-])(mmproj|imatrix)([/._-]|$)", re.IGNORECASE)
PREFERRED = ("Q4_K_M", "UD-Q4_K_XL", "MXFP4", "Q4_K_S", "Q4_0", "IQ4_XS", "Q5_K_M", "Q8_0", "F16", "BF16")
"""What is taken where nobody chose: small, and close to the full model."""


class Sized(Protocol):
    """A file with a name and a size."""

    @property
    def path(self) -> str:
        """The name inside its folder or repository, with slashes."""

    @property
    def size(self) -> int:
        """In bytes."""


File = TypeVar("File", bound=Sized)


@dataclass(frozen=True, slots=True)
class Group(Generic[File]):
    """One model: a file, or the parts of a split one in their order. `missing` names the parts that are not there."""

    files: tuple[File, ...]
    quantisation: str
    missing: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The first part's name."""
        return self.files[0].path

    @property
    def size(self) -> int:
        """All parts together, in bytes."""
        return sum(file.size for file in self.files)


def quantisation(path: str) -> str:
    """The last quantisation in a file's name or, failing that, its folders', in capitals; empty where there is none."""
    for part in reversed(path.removesuffix(".gguf").split("/")):
        found = _QUANTISATION.findall(part)
        if found:
            name: str = found[-1].upper()
            return name.replace("FP", "F") if name.startswith("FP") else name
    return ""


def part_of(path: str) -> tuple[str, int, int] | None:
    """The name without its number, which part, and of how many; None for a file that stands alone."""
    match = _PART.match(path)
    return (match["stem"], int(match["number"]), int(match["count"])) if match else None


def is_model(path: str) -> bool:
    """Whether a name is that of a language model's file: GGUF, no image projector, no importance matrix."""
    return path.lower().endswith(".gguf") and not _NO_MODEL.search(path)


def group(files: Iterable[File]) -> list[Group[File]]:
    """The models that the files make up, smallest first."""
    sets: dict[tuple[str, int], dict[int, File]] = {}
    for file in files:
        if is_model(file.path):
            stem, number, count = part_of(file.path) or (file.path, 1, 1)
            sets.setdefault((stem, count), {})[number] = file
    groups = []
    for (stem, count), parts in sets.items():
        missing = tuple(
            f"{stem}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1) if number not in parts
        )
        ordered = tuple(parts[number] for number in sorted(parts))
        groups.append(Group(ordered, quantisation(ordered[0].path), missing[:8]))
    return sorted(groups, key=lambda group: (group.size, group.path))


def choose(groups: Iterable[Group[File]], wanted: str) -> Group[File] | None:
    """The model with this quantisation or file name; the preferred one for an empty wish; None where there is none."""
    found = list(groups)
    if not wanted:
        for name in PREFERRED:
            for one in found:
                if one.quantisation == name:
                    return one
        return found[0] if found else None
    for one in found:
        names = (one.path, one.path.rsplit("/", 1)[-1], one.path.rsplit("/", 1)[-1].removesuffix(".gguf"))
        if wanted.upper() == one.quantisation or wanted in names:
            return one
    return None
