"""Explains why tokens of a prompt had to be read although the memory held a text of a similar length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specchat_engine.prompt.encoding import common_prefix

_FEW = 64
"""A miss of fewer tokens is not reported: users do not notice the time."""

_SHOWN = 40
"""The number of characters that are shown of the prompt where it differs."""


def cache_miss(texts: Sequence[Sequence[int]], tokens: Sequence[int], kept: int, piece: Callable[[int], bytes]) -> str:
    """Returns a sentence on why only the first `kept` tokens of a prompt were in memory, empty if few were missed.

    `texts` were in memory before, with ids below 0 for parts of images. They may belong to other clients and are not
    shown. `piece` gives the bytes of a token.
    """
    if len(tokens) - kept < _FEW:
        return ""
    before = max(texts, key=lambda text: (common_prefix(text, tokens), len(text)))
    if min(len(before), len(tokens)) - kept < _FEW:
        return ""
    if before[kept] == tokens[kept]:
        return f"only the first {kept} tokens were in memory: this model cannot go back to where the prompts part"
    new = _beginning(tokens[kept:], piece)
    return f"only the first {kept} tokens were in memory: no text there goes on with {new}"


def _beginning(tokens: Sequence[int], piece: Callable[[int], bytes]) -> str:
    if tokens[0] < 0:
        return "this image"
    return repr(b"".join(piece(token) for token in tokens[:_SHOWN] if token >= 0).decode("utf-8", "replace")[:_SHOWN])
