"""Why tokens of a prompt are read although the memory holds another text of about the same length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specchat_engine.prompt.encoding import common_prefix

_FEW = 64
"""Reading fewer tokens again takes no time that a user would notice."""

_SHOWN = 40
"""So many characters are shown of what differs."""


def cache_miss(texts: Sequence[Sequence[int]], tokens: Sequence[int], kept: int, piece: Callable[[int], bytes]) -> str:
    """Why the first `kept` tokens alone of a prompt were in memory, as a sentence; empty if not much was lost.

    `texts` were in memory before, with ids below 0 for parts of images. They may be other clients' and are not shown.
    `piece` gives the bytes of a token.
    """
    if len(tokens) - kept < _FEW:
        return ""
    before = max(texts, key=lambda text: common_prefix(text, tokens))
    if min(len(before), len(tokens)) - kept < _FEW:
        return ""
    if before[kept] == tokens[kept]:
        return f"only the first {kept} tokens were in memory: this model's cannot go back to where the prompts part"
    new = _beginning(tokens[kept:], piece)
    return f"only the first {kept} tokens were in memory: no text there goes on with {new}"


def _beginning(tokens: Sequence[int], piece: Callable[[int], bytes]) -> str:
    if tokens[0] < 0:
        return "this image"
    return repr(b"".join(piece(token) for token in tokens[:_SHOWN] if token >= 0).decode("utf-8", "replace")[:_SHOWN])
