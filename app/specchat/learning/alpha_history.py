"""The history of α while a draft model learns: what was accepted and rejected, over recorded tokens and kinds of text.

Counts of neighbouring answers are added, so that the history stays small however long it gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from specchat_engine.decoding.stats import AcceptanceCounts, Compared

_EVERY = 500
"""Answers within this many tokens share an entry at first."""

_MOST = 64
"""If the tokens fill more than this many intervals, the intervals are doubled."""


@dataclass(frozen=True, slots=True)
class AlphaEntry(Compared):
    """What was compared in answers of one kind of text, the last of which ended after `tokens` recorded tokens.

    `learned` says whether the draft had learned, or was the one that it came from.
    """

    tokens: int
    kind: str
    learned: bool
    num_accepted_tokens: int
    num_rejected_tokens: int

    def __add__(self, other: AlphaEntry) -> AlphaEntry:
        """Both in one entry; kind and draft are the same."""
        return replace(
            self,
            tokens=max(self.tokens, other.tokens),
            num_accepted_tokens=self.num_accepted_tokens + other.num_accepted_tokens,
            num_rejected_tokens=self.num_rejected_tokens + other.num_rejected_tokens,
        )


def extended(
    history: Sequence[AlphaEntry], tokens: int, kind: str, original: AcceptanceCounts, learned: AcceptanceCounts
) -> tuple[AlphaEntry, ...]:
    """The history with an answer that ended after `tokens` recorded tokens, and what it accepted of each draft.

    For each kind and draft it has at most about 64 entries.
    """
    entries = list(history)
    for counts, has_learned in ((original, False), (learned, True)):
        if counts.num_tested_tokens:
            accepted, rejected = counts.num_accepted_tokens, counts.num_rejected_tokens
            entries.append(AlphaEntry(tokens, kind, has_learned, accepted, rejected))
    every = _EVERY
    while tokens > _MOST * every:
        every *= 2
    together: dict[tuple[int, str, bool], AlphaEntry] = {}
    for entry in entries:
        key = entry.tokens // every, entry.kind, entry.learned
        together[key] = together[key] + entry if key in together else entry
    return tuple(together.values())


def joined(entries: Iterable[AlphaEntry], fewest: int) -> list[AlphaEntry]:
    """Neighbouring entries of one kind and draft, added until each has at least `fewest` compared tokens.

    What is left at the end is added to the last one. If all have fewer, there is one entry.
    """
    joined_entries: list[AlphaEntry] = []
    rest: AlphaEntry | None = None
    for entry in entries:
        rest = rest + entry if rest else entry
        if rest.num_tested_tokens >= fewest:
            joined_entries.append(rest)
            rest = None
    if rest:
        joined_entries[-1:] = [joined_entries[-1] + rest] if joined_entries else [rest]
    return joined_entries
