"""Token documents to rows of one length, several documents in a row, none of them seeing another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

IGNORED = -100
"""The target of a position that carries no loss."""


@dataclass(frozen=True, slots=True)
class Document:
    """Token ids, and for each whether the model is to learn to say it; `group` names what is reported together."""

    ids: Sequence[int]
    learned: Sequence[bool]
    group: int = 0


@dataclass(frozen=True, slots=True)
class Teaching:
    """What a teacher thinks at the positions that carry loss: its likeliest tokens' ids and log-probabilities,
    both [wanted, kept]."""

    ids: Tensor
    log_probabilities: Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Packed rows; each tensor is [rows, length], integers.

    `targets` holds the next token's id where it is learned and IGNORED elsewhere, `groups` the document's group,
    `documents` a number for each document of a row (0 for padding).
    """

    ids: Tensor
    positions: Tensor
    documents: Tensor
    targets: Tensor
    groups: Tensor
    teaching: Teaching | None = None

    def to(self, device: torch.device) -> Batch:
        """The same batch on a device."""
        teaching = self.teaching
        if teaching is not None:
            teaching = Teaching(teaching.ids.to(device), teaching.log_probabilities.to(device))
        return Batch(
            self.ids.to(device),
            self.positions.to(device),
            self.documents.to(device),
            self.targets.to(device),
            self.groups.to(device),
            teaching,
        )

    @property
    def mask(self) -> Tensor:
        """[rows, 1, length, length], true where a token may look: at or before itself, in its own document."""
        length = self.ids.shape[1]
        same = self.documents[:, :, None] == self.documents[:, None, :]
        causal = torch.ones(length, length, dtype=torch.bool, device=self.ids.device).tril()
        return (same & causal)[:, None]

    @property
    def wanted(self) -> Tensor:
        """Indices into rows x length of the positions that carry loss."""
        return (self.targets.flatten() != IGNORED).nonzero()[:, 0]


def fill_rows(documents: Iterable[Document], length: int) -> list[list[Document]]:
    """First fit, longest first: lists of documents whose ids together are at most `length`.

    Raises:
        ValueError: a document is longer than a row.
    """
    rows: list[list[Document]] = []
    room: list[int] = []
    for document in sorted(documents, key=lambda each: len(each.ids), reverse=True):
        size = len(document.ids)
        if size > length:
            raise ValueError(f"a document of {size} tokens does not fit a row of {length}: drop it or lengthen rows")
        place = next((index for index, free in enumerate(room) if free >= size), None)
        if place is None:
            rows.append([document])
            room.append(length - size)
        else:
            rows[place].append(document)
            room[place] -= size
    return rows


def pack(rows: Sequence[Sequence[Document]], length: int) -> Batch:
    """Rows of documents as one batch, padded with id 0."""
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    positions, numbers, groups = torch.zeros_like(ids), torch.zeros_like(ids), torch.zeros_like(ids)
    targets = torch.full_like(ids, IGNORED)
    for row, held in enumerate(rows):
        start = 0
        for number, document in enumerate(held, start=1):
            size = len(document.ids)
            end = start + size
            tokens = torch.tensor(document.ids)
            ids[row, start:end] = tokens
            positions[row, start:end] = torch.arange(size)
            numbers[row, start:end] = number
            groups[row, start:end] = document.group
            learned = torch.tensor(document.learned[1:], dtype=torch.bool)
            targets[row, start : end - 1] = torch.where(learned, tokens[1:], IGNORED)
            start = end
    return Batch(ids, positions, numbers, targets, groups)


def batches_by_length(documents: Iterable[Document], lengths: Sequence[int], tokens: int) -> list[Batch]:
    """Batches of equal size, of at most about `tokens` tokens; a document that fits no row is left out.

    Each document goes to the shortest of the row `lengths` that holds it: the cost of attention grows with the row, not
    with the document.
    """
    shelves: dict[int, list[Document]] = {length: [] for length in sorted(lengths)}
    for document in documents:
        shelf = next((length for length in shelves if len(document.ids) <= length), None)
        if shelf is not None:
            shelves[shelf].append(document)
    batches: list[Batch] = []
    for length, held in shelves.items():
        rows = fill_rows(held, length)
        count = math.ceil(len(rows) * length / tokens)
        batches.extend(pack(rows[part::count], length) for part in range(count))
    return batches
