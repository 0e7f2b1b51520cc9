"""What a target said and thought while it answered: a ring buffer on disk that a draft model can learn from.

Each turn is a file with its token ids and, after each token from the last one of the prompt on, the target's likeliest
next tokens with their log-probabilities. They come from the passes of the answer, so nothing is computed twice. Source:
Liu et al., "Online Speculative Decoding", arXiv 2310.07177.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

KEPT: Final = 32
"""So many of the target's likeliest tokens are kept after each token."""

_BLOCK = 64
"""The likeliest tokens are looked for in the blocks of this many with the largest maxima, not among all."""

_DAMAGED = (OSError, ValueError, KeyError, BadZipFile, EOFError)
_NAME = re.compile(r"(\d{9})-(\d+)-([\w ]*)\.npz")


@dataclass(frozen=True, slots=True, eq=False)
class RecordedTurn:
    """One answer: the token ids [n] of prompt and answer, and how many belong to the prompt.

    `best` and `log_p`, both [m, KEPT], are what the target thought after token `prompt_length` - 1 + i, for the m
    tokens of the answer. `kind` is the kind of text.
    """

    ids: NDArray[np.int32]
    prompt_length: int
    best: NDArray[np.int32]
    log_p: NDArray[np.float16]
    kind: str = ""


class TurnBuffer:
    """The latest turns in a folder, up to `most` tokens; older ones are deleted. One process writes at a time."""

    def __init__(self, folder: Path, most: int = 2_000_000) -> None:
        self.folder = folder
        self._most = most

    @property
    def num_tokens(self) -> int:
        """How many tokens it has."""
        return sum(tokens for _, tokens, _ in self._files())

    def add(self, turn: RecordedTurn) -> None:
        """Adds a turn and deletes the oldest ones beyond the limit. Raises OSError if it cannot be written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        files = self._files()
        number = files[-1][0] + 1 if files else 0
        path = self.folder / f"{number:09d}-{len(turn.ids)}-{turn.kind}.npz"
        unfinished = self.folder / f".{os.getpid()}.unfinished"
        try:
            with unfinished.open("wb") as file:
                np.savez(file, ids=turn.ids, prompt=turn.prompt_length, best=turn.best, log_p=turn.log_p)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
        total = len(turn.ids)
        for _, tokens, old in reversed(files):
            total += tokens
            if total > self._most:
                old.unlink(missing_ok=True)

    def turns(self) -> Iterator[RecordedTurn]:
        """The turns, the oldest first; files that cannot be read are passed over."""
        for _, _, path in self._files():
            with suppress(*_DAMAGED), path.open("rb") as file, np.load(file) as arrays:
                ids, prompt, best, log_p = arrays["ids"], int(arrays["prompt"]), arrays["best"], arrays["log_p"]
                if best.shape == log_p.shape == (len(ids) - prompt, best.shape[1]) and prompt > 0:
                    name = _NAME.fullmatch(path.name)
                    yield RecordedTurn(ids, prompt, best, log_p, name[3] if name else "")

    def clear(self) -> None:
        """Deletes all turns."""
        for _, _, path in self._files():
            path.unlink(missing_ok=True)

    def _files(self) -> list[tuple[int, int, Path]]:
        """Number, tokens and path of each turn, the oldest first."""
        matches = ((_NAME.fullmatch(path.name), path) for path in self.folder.glob("*.npz"))
        return sorted((int(match[1]), int(match[2]), path) for match, path in matches if match)


def likeliest(logits: NDArray[np.float32], count: int = KEPT) -> tuple[NDArray[np.int32], NDArray[np.float16]]:
    """The `count` likeliest ids of each row of logits [n, V], best first, and their log-probabilities."""
    rows, size = logits.shape
    width, blocks = min(count, size), size // _BLOCK
    best = np.broadcast_to(np.arange(size), logits.shape)
    if blocks > width:
        maxima = logits[:, : blocks * _BLOCK].reshape(rows, _BLOCK, blocks).max(axis=1)
        largest = np.argpartition(maxima, blocks - width, axis=1)[:, blocks - width :, None]
        inside = (largest + np.arange(_BLOCK) * blocks).reshape(rows, -1)
        best = np.concatenate((inside, best[:, blocks * _BLOCK :]), axis=1)
    chosen = np.take_along_axis(logits, best, axis=1)
    if best.shape[1] > width:
        first = np.argpartition(-chosen, width - 1, axis=1)[:, :width]
        best, chosen = np.take_along_axis(best, first, axis=1), np.take_along_axis(chosen, first, axis=1)
    order = np.argsort(-chosen, axis=1, kind="stable")
    best, chosen = np.take_along_axis(best, order, axis=1), np.take_along_axis(chosen, order, axis=1)
    top = chosen[:, :1]
    total = top + np.log(np.exp(logits - top).sum(axis=1, keepdims=True, dtype=np.float64))
    return best.astype(np.int32), (chosen - total).astype(np.float16)
