"""Why tokens of a prompt are read again although the memory holds another prompt of about the same length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_FEW = 64
"""Reading fewer tokens again takes no time that a user would notice."""

_SHOWN = 40
"""So many characters are shown of what differs."""


def why_read_again(before: Sequence[int], tokens: Sequence[int], kept: int, piece: Callable[[int], bytes]) -> str:
    """Why the first `kept` tokens alone of a prompt were in memory, as a sentence; empty if not much was lost.

    `before` is what the memory held, with ids below 0 for parts of images, and `piece` gives the bytes of a token. What
    was there before may be another client's and is not shown.
    """
    lost = min(len(before), len(tokens)) - kept
    if lost < _FEW:
        return ""
    if before[kept] == tokens[kept]:
        return f"only the first {kept} tokens were kept: this model's memory cannot go back to where they part"
    new = _beginning(tokens[kept:], piece)
    return f"only the first {kept} tokens were kept: the prompt before this one had no {new} there"


def _beginning(tokens: Sequence[int], piece: Callable[[int], bytes]) -> str:
    if tokens[0] < 0:
        return "such image"
    return repr(b"".join(piece(token) for token in tokens[:_SHOWN] if token >= 0).decode("utf-8", "replace")[:_SHOWN])
