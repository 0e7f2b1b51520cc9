"""Images in a prompt: what a message has of them, and where they stand among the token ids.

An image becomes tokens of the model, which begin, part and end it, and runs of embeddings. To everyone but the target a
run is so many placeholders. The target's memory keeps other ids for it, which follow from the image: then two memories
agree where their ids do, as for text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256, shake_256

_WORD = 4


@dataclass(frozen=True, slots=True)
class Image:
    """An image of a message: the bytes of its file, which is a PNG, a JPEG, a GIF or a BMP. `digest` identifies it."""

    data: bytes = field(repr=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", sha256(self.data).hexdigest())


@dataclass(frozen=True, slots=True)
class ImageRun:
    """A run of embeddings that begins at `start`: the `ids` that stand for it in memory, and the `placeholder` that
    everyone else reads in their places."""

    start: int
    ids: tuple[int, ...]
    placeholder: int

    @property
    def end(self) -> int:
        """The place after its last one."""
        return self.start + len(self.ids)

    def moved(self, by: int) -> ImageRun:
        """The same run, `by` places later."""
        return replace(self, start=self.start + by)


@dataclass(frozen=True, slots=True)
class ImageTokens:
    """An image as part of a prompt: token ids, with placeholders where the `runs` are."""

    tokens: tuple[int, ...]
    runs: tuple[ImageRun, ...]


ReadImage = Callable[[Image], ImageTokens]
"""Gives the tokens of an image. Raises SettingError for one that cannot be read."""


def ids_of(digest: str, part: int, count: int) -> tuple[int, ...]:
    """The ids of a run: negative, so that no token has them, and different for other images and other parts of it.

    They fit 32 bits, as tokens do in saved caches.
    """
    words = shake_256(f"{digest}/{part}".encode()).digest(_WORD * count)
    numbers = (int.from_bytes(words[offset : offset + _WORD], "big") for offset in range(0, len(words), _WORD))
    return tuple(-1 - (word >> 1) for word in numbers)


def with_images(tokens: Sequence[int], runs: Iterable[ImageRun]) -> Sequence[int]:
    """The ids as a memory keeps them: those of the runs in place of placeholders."""
    replaced: list[int] | None = None
    for run in runs:
        if run.end <= len(tokens) and all(token == run.placeholder for token in tokens[run.start : run.end]):
            replaced = [*tokens] if replaced is None else replaced
            replaced[run.start : run.end] = run.ids
    return tokens if replaced is None else replaced


def outside_images(ids: Sequence[int], length: int) -> int:
    """The largest length up to this one at which no image is cut: a memory that is cut there can go on from it."""
    while 0 < length < len(ids) and ids[length - 1] < 0 and ids[length] < 0:
        length -= 1
    return length
