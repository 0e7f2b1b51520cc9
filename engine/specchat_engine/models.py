"""What the engine needs of a model and of its vocabulary, as protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from specchat_engine.grammar.constraint import GrammarVocabulary
from specchat_engine.prompt.encoding import Tokenizer
from specchat_engine.prompt.images import ImageRun


@dataclass(frozen=True, slots=True)
class SharedPass:
    """What other answers add to the passes of an answer: how many they are, and how many of their tokens its last
    target pass read. `usual_tokens` and `usual_emitted` are what they add to a pass and get from it on average.
    `reading` says that one of them read a prompt in it.

    `draft_share` is the answer's part of the time of its draft passes before; all sharers have equal parts.
    """

    answers: int = 0
    tokens: int = 0
    usual_tokens: float = 0.0
    usual_emitted: float = 0.0
    reading: bool = False
    draft_share: float = 1.0


ALONE: Final = SharedPass()


class CausalModel(Protocol):
    """A model that remembers the tokens it has read."""

    @property
    def length(self) -> int:
        """How many tokens the memory holds."""

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        """Reads tokens after those in memory; logits [rows, V] of the last `rows`, valid until the next call."""

    def rewind(self, length: int) -> None:
        """Forgets all but the first `length` tokens."""


@runtime_checkable
class BranchingModel(CausalModel, Protocol):
    """A model that can read several continuations in one pass."""

    @property
    def max_rows(self) -> int:
        """How many rows of logits one pass may give."""

    @property
    def max_leaves(self) -> int:
        """How many leaves a tree may have; 1 if the memory cannot branch."""

    def advance_tree(self, token: int, tree: Sequence[int], parents: Sequence[int]) -> NDArray[np.float32]:
        """Reads a token and a tree that follows it: logits [n + 1, V] of the token and of the tree's n tokens.

        `parents` has the index of the token that each one follows, -1 for `token`. The memory has the tree only until
        `take` or `rewind`.
        """

    def take(self, path: Sequence[int]) -> None:
        """Keeps this path of the tree, given by indexes from its root on, and forgets the rest."""


@runtime_checkable
class ForkingModel(CausalModel, Protocol):
    """A model that can read a branch beside its text, a token of each in a pass."""

    @property
    def can_fork(self) -> bool:
        """Whether the memory has room for a branch."""

    def fork(self, length: int) -> None:
        """Begins a branch after the first `length` tokens, in place of the one before."""

    def advance_both(self, token: int, other: int) -> NDArray[np.float32]:
        """Reads a token after those in memory, and another one at the end of the branch: logits [2, V]."""

    def join(self, text: Sequence[int], known: int = 0) -> None:
        """Ends the branch, and keeps the longest beginning of a text that the memory or the branch agrees with.

        The first `known` tokens do.
        """


@runtime_checkable
class SeeingModel(CausalModel, Protocol):
    """A model that can read images in its text."""

    def see(self, images: Sequence[ImageRun]) -> None:
        """Says where images stand in the texts that are read from now on; their tokens have placeholders there."""


class SessionModel(CausalModel, Protocol):
    """What a session needs of a model in addition to the loop."""

    busy_ns: int
    """The time of all passes, in nanoseconds."""
    rollback_ns: int
    """The time of rollbacks in nanoseconds: checkpoints, cuts, and reading again what they lost."""
    user: object
    """The answer that uses the memory now, None between answers."""
    threads: int
    """How many threads compute a pass; a new number holds from the next pass on."""

    @property
    def capacity(self) -> int:
        """How many tokens the memory can hold."""

    @property
    def max_rows(self) -> int:
        """How many rows of logits one pass may give."""

    @property
    def goes_back_freely(self) -> bool:
        """Whether any number of tokens can be forgotten at no cost."""

    def checkpoint(self) -> None:
        """Makes sure that `rewind` can come back to this length, or beyond, at little cost."""

    def keep(self, tokens: Sequence[int]) -> None:
        """Keeps the longest common prefix with these tokens, or less if the memory cannot go back just so far."""

    def read(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> int:
        """Makes the memory hold exactly these tokens; returns how many of them did not have to be read."""

    def clear(self) -> None:
        """Forgets everything."""


class TargetModel(SessionModel, Protocol):
    """What a session needs of the target alone."""

    @property
    def texts(self) -> Sequence[Sequence[int]]:
        """Returns copies of the texts in memory that a prompt can go on from. Parts of images have ids below 0."""


class SessionVocabulary(Tokenizer, GrammarVocabulary, Protocol):
    """What a session needs of a vocabulary."""

    @property
    def ends(self) -> frozenset[int]:
        """The ids that end an answer."""

    @property
    def special(self) -> Mapping[str, int]:
        """The ids of tokens with a name: `bos`, `eos`, `eot`; -1 for none."""

    def piece(self, token: int) -> bytes:
        """The bytes of a token."""
