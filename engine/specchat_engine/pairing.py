"""Whether a draft model can draft for a target: both have to mean the same by a token id."""

from __future__ import annotations

from typing import Protocol

from specchat_engine.errors import PairError

PADDING = 512
"""Vocabularies that differ only in so many entries at the end are equal up to padding."""


class TokenTable(Protocol):
    """What is compared of a vocabulary."""

    @property
    def type(self) -> str:
        """The kind of tokenizer."""

    @property
    def size(self) -> int:
        """The number of entries."""

    @property
    def special(self) -> dict[str, int]:
        """The ids of the named control tokens, -1 for none."""

    @property
    def adds_bos(self) -> bool:
        """Whether prompts begin with the beginning-of-sequence token."""

    def text(self, token: int) -> str:
        """One entry."""


def check_pair(target: TokenTable, draft: TokenTable) -> None:
    """Raises PairError that names the first difference between two vocabularies."""
    if target.type != draft.type:
        raise PairError(
            f"the tokenizers differ: the target's is {target.type}, the draft's {draft.type}; "
            "use a draft model of the target's family"
        )
    shared = min(target.size, draft.size)
    for token in range(shared):
        if target.text(token) != draft.text(token):
            raise PairError(
                f"the vocabularies differ from token {token} on: {target.text(token)!r} in the target, "
                f"{draft.text(token)!r} in the draft; use a draft model of the target's family"
            )
    if abs(target.size - draft.size) > PADDING:
        raise PairError(
            f"the vocabularies differ in size: {target.size} entries in the target, {draft.size} in the draft; "
            "use a draft model of the target's family"
        )
    for name in ("bos", "eos", "eot"):
        if (name != "bos" or target.adds_bos) and target.special[name] != draft.special[name]:
            raise PairError(
                f"the special token {name} differs: {target.special[name]} in the target, {draft.special[name]} in the "
                "draft; use a draft model of the target's family"
            )
    if target.adds_bos != draft.adds_bos:
        raise PairError(
            "only one of the models begins prompts with a bos token; use a draft model of the target's family"
        )
