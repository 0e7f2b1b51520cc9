"""Help for the built-in guide: passages about its subjects, and a search for the one that answers a message.

The guide is too small to find the right answer among hundreds by itself, but it quotes well. So the search chooses a
passage, the prompt shows it to the guide, and the guide says it. The search is a linear classifier on pieces of words
(Joulin et al., "Bag of Tricks for Efficient Text Classification", arXiv 1607.01759). `assets/recipe` trains it.
"""

from __future__ import annotations

import json
import re
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from specchat_assets import quoted

PASSAGES = quoted.PASSAGES
INDEX = Path(__file__).with_name("index.npz")

OWN = "own"
"""The label of messages that the guide answers by itself: follow-ups, and work on a text of the user's."""

UNSURE = "unsure"
"""The label of questions about something else, and the passage that says what the guide can do."""

_SURE, _OWN_SURE = 0.2, 0.5
"""The probability from which on a passage is quoted, if the message is not one of `OWN`, and from which on it is."""

_LONGEST = 400
"""A longer message, in characters, is a text to work on rather than a question; so is one of several lines."""

_WORD = re.compile(r"[a-z0-9]+|[^\sa-z0-9?.,!;:'\"()`]")
_PIECES = (3, 4, 5)
_GREEK = re.compile("[\u03b1-\u03c9]")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to quote. `topic` names it in a few words: `the draft model`."""

    id: str
    topic: str
    text: str


def find(message: str) -> Passage | None:
    """The passage that answers a message, the one for `UNSURE` if none does, and None if no passage is needed."""
    if not is_question(message):
        return None
    chances = dict(zip(_index().labels, _index().probabilities(message).tolist(), strict=True))
    own, unsure = chances.pop(OWN), chances.pop(UNSURE)
    if own >= _OWN_SURE:
        return None
    best = max(chances, key=chances.__getitem__)
    sure = chances[best] >= max(unsure, _SURE * (1 - own))
    return _passages()[best if sure else UNSURE]


def is_question(message: str) -> bool:
    """True if a message may be a question: it is one line of a usual length."""
    text = message.strip()
    return 0 < len(text) <= _LONGEST and "\n" not in text


def quoting(message: str, passage: Passage) -> str:
    """The message as the guide gets it: followed by the passage, which it has learned to repeat."""
    return quoted.quoting(message, passage.text)


def features(message: str, buckets: int) -> list[int]:
    """The hashed words, pairs of words, and pieces of words of a message, each once; at least one."""
    words = _WORD.findall(_GREEK.sub(_letter_name, message.lower().replace("'", "")))
    texts = {f"{first} {second}" for first, second in pairwise(words)}
    for word in words:
        framed = f"<{word}>"
        texts.add(f"={word}")
        texts.update(framed[at : at + size] for size in _PIECES for at in range(len(framed) - size + 1))
    return sorted({zlib.crc32(each.encode()) % buckets for each in texts}) or [0]


def _letter_name(letter: re.Match[str]) -> str:
    """`alpha` for α, as the figures and formulas are also written."""
    return f" {unicodedata.name(letter[0]).split()[-1].lower()} "


@dataclass(frozen=True, slots=True)
class Index:
    """The classifier: `weights` are [buckets, labels] in steps of `scale` (one for each label), `bias` is [labels]."""

    labels: Sequence[str]
    weights: NDArray[np.int8]
    scale: NDArray[np.float32]
    bias: NDArray[np.float32]

    def probabilities(self, message: str) -> NDArray[np.float32]:
        """How likely each label is, in the order of the labels."""
        rows = features(message, len(self.weights))
        total = self.weights[rows].sum(axis=0, dtype=np.int32) * self.scale
        scores = total / np.sqrt(len(rows)) + self.bias
        chances = np.exp(scores - scores.max())
        return np.asarray(chances / chances.sum(), dtype=np.float32)

    def save(self, path: Path) -> None:
        """Writes the classifier as a compressed file of arrays."""
        with path.open("wb") as file:
            np.savez_compressed(
                file, labels=np.array(self.labels), weights=self.weights, scale=self.scale, bias=self.bias
            )

    @classmethod
    def load(cls, path: Path) -> Index:
        """Reads a classifier that `save` wrote."""
        with np.load(path, allow_pickle=False) as file:
            return cls(file["labels"].tolist(), file["weights"], file["scale"], file["bias"])


@cache
def _index() -> Index:
    return Index.load(INDEX)


@cache
def _passages() -> dict[str, Passage]:
    entries = json.loads(PASSAGES.read_text("utf-8"))
    return {entry["id"]: Passage(**entry) for entry in entries}
