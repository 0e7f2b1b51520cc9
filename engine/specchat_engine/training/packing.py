"""Packs token documents into rows of equal length: several documents share a row, and none attends to another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar

import torch
from torch import Tensor

IGNORED = -100
"""The target of a position that carries no loss."""


@dataclass(frozen=True, slots=True)
class TokenDocument:
    """Token ids, and for each whether the model is to learn to say it; `group` names what is reported together."""

    ids: Sequence[int]
    learned: Sequence[bool]
    group: int = 0


TENSORS = ("ids", "positions", "documents", "targets", "groups")
"""The tensors of a batch."""


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """Packed rows; each tensor is [rows, length], integers.

    `targets` holds the next token's id where it is learned and IGNORED elsewhere, `groups` the document's group,
    `documents` a number for each document of a row (0 for padding).
    """

    ids: Tensor
    positions: Tensor
    documents: Tensor
    targets: Tensor
    groups: Tensor

    def to(self, device: torch.device) -> Self:
        """The same batch on a device."""
        return replace(self, **{name: getattr(self, name).to(device) for name in TENSORS})

    @property
    def mask(self) -> Tensor:
        """[rows, 1, length, length], true where a token may attend: up to itself, within its own document."""
        length = self.ids.shape[1]
        same = self.documents[:, :, None] == self.documents[:, None, :]
        causal = torch.ones(length, length, dtype=torch.bool, device=self.ids.device).tril()
        return (same & causal)[:, None]

    @property
    def wanted(self) -> Tensor:
        """Indices into rows x length of the positions that carry loss."""
        return (self.targets.flatten() != IGNORED).nonzero()[:, 0]


def drawn(draw: Callable[[], TokenDocument], tokens: int) -> list[TokenDocument]:
    """Draws documents until they have this many tokens."""
    documents: list[TokenDocument] = []
    size = 0
    while size < tokens:
        documents.append(draw())
        size += len(documents[-1].ids)
    return documents


AnyDocument = TypeVar("AnyDocument", bound=TokenDocument)


@dataclass(slots=True)
class PackedRow(Generic[AnyDocument]):
    """Documents that share a row of `length` tokens."""

    length: int
    documents: list[AnyDocument]

    @property
    def room(self) -> int:
        """Tokens that are still free."""
        return self.length - sum(len(document.ids) for document in self.documents)


def fill_rows(documents: Iterable[AnyDocument], lengths: Sequence[int]) -> list[PackedRow[AnyDocument]]:
    """Rows of the given lengths that hold all documents but those longer than the longest row.

    Longest first, each into the fullest row that has room for it, else into a new row of the shortest length that
    holds it: the cost of attention grows with the row, not with the document.
    """
    rows: list[PackedRow[AnyDocument]] = []
    for document in sorted(documents, key=lambda each: len(each.ids), reverse=True):
        size = len(document.ids)
        open_rows = [row for row in rows if row.room >= size]
        if open_rows:
            min(open_rows, key=lambda row: row.room).documents.append(document)
            continue
        length = next((length for length in sorted(lengths) if size <= length), None)
        if length is not None:
            rows.append(PackedRow(length, [document]))
    return rows


def pack(rows: Sequence[Sequence[TokenDocument]], length: int) -> PackedBatch:
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
    return PackedBatch(ids, positions, numbers, targets, groups)


def batches_by_length(
    documents: Iterable[AnyDocument],
    lengths: Sequence[int],
    tokens: int,
    packed: Callable[[Sequence[Sequence[AnyDocument]], int], PackedBatch] = pack,
) -> list[PackedBatch]:
    """Batches of equal size, of at most about `tokens` tokens; a document that fits no row is left out."""
    rows = fill_rows(documents, lengths)
    batches: list[PackedBatch] = []
    for length in sorted(lengths):
        held = [row.documents for row in rows if row.length == length]
        count = math.ceil(len(held) * length / tokens)
        batches.extend(packed(held[part::count], length) for part in range(count))
    return batches
