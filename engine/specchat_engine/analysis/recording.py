"""One answer as the audit keeps it: what each pass drafted and emitted, and a look at the logits that decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.rounds import Round
from specchat_engine.grammar.held import FREE, HeldGrammar
from specchat_engine.models import BranchingModel, SessionModel
from specchat_engine.prompt.messages import Prompt
from specchat_engine.session import Session
from specchat_engine.trees import chain_of, depths_of

Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree as the target read it, and the path that it kept: its cache holds the tokens in this order."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    path: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedPass:
    """One round in ids: what was drafted, and what was emitted.

    `parents` are those of a tree, as in a round, and the accepted tokens come first; `tree` is the tree as it was read.
    `p` and `q` have the probabilities that the round reports for the drafted tokens, `own_p` that of the target's own
    token; None where there was none. `other` is the likeliest token that the target did not take, -1 if there was none;
    `tempting` says that it is likelier than the one taken.
    """

    drafted: tuple[int, ...]
    emitted: tuple[int, ...]
    p: tuple[float | None, ...] = ()
    q: tuple[float | None, ...] = ()
    own_p: float | None = None
    accepted: int = 0
    other: int = -1
    tempting: bool = False
    parents: tuple[int, ...] = ()
    tree: Tree | None = None

    @property
    def depths(self) -> list[int | None]:
        """How many accepted tokens each drafted token follows, None if it also follows one that was not accepted."""
        parents = self.parents or chain_of(len(self.drafted))
        followed = zip(parents, depths_of(parents), strict=True)
        return [depth if parent < self.accepted else None for parent, depth in followed]

    @classmethod
    def of(cls, event: Round, tree: Tree | None = None) -> RecordedPass:
        """Records a round."""
        drafted, own = tuple(token.id for token in event.drafted if token.id is not None), event.token.id
        return cls(
            drafted,
            (*drafted[: event.num_accepted], *(() if own is None else (own,))),
            tuple(token.p for token in event.drafted),
            tuple(token.q for token in event.drafted),
            event.token.p,
            event.num_accepted,
            next((candidate.id for candidate in event.top if candidate.id != own), -1),
            bool(event.top) and event.top[0].id != own,
            event.parents,
            tree if event.parents else None,
        )


@dataclass(frozen=True, slots=True)
class Recording:
    """One answer, the passes that made it, and the grammar that it was `held` to."""

    prompt: tuple[int, ...]
    seed: int
    passes: tuple[RecordedPass, ...]
    held: HeldGrammar = FREE

    @property
    def tokens(self) -> tuple[int, ...]:
        """The answer."""
        return tuple(token for each in self.passes for token in each.emitted)


def record(
    session: Session,
    request: str | Prompt,
    hear: Callable[[RecordedPass], None] = lambda _: None,
    tree: Callable[[], Tree | None] = lambda: None,
) -> Recording:
    """Answers a message or a prompt, and records the tokens of each pass. `hear` gets each pass as soon as it was made,
    `tree` gives the tree that was read last."""
    passes = []
    for event in session.generate(request) if isinstance(request, str) else session.answer(request, 0):
        passes.append(RecordedPass.of(event, tree()))
        hear(passes[-1])
    return Recording(tuple(session.prompt_ids), session.turn_seed, tuple(passes), session.held)


class LatestPass:
    """What a target's latest pass gave: its logits, of a tree the rows of the path that was taken, and the tree."""

    def __init__(self) -> None:
        self.logits: Logits = np.empty((0, 0), np.float32)
        self.tree: Tree | None = None


@contextmanager
def watched(target: SessionModel) -> Iterator[LatestPass]:
    """Meanwhile keeps what the target's passes give."""
    seen, advance = LatestPass(), target.advance

    def kept(tokens: Sequence[int], rows: int) -> Logits:
        logits = advance(tokens, rows)
        if rows:
            seen.logits, seen.tree = logits.copy(), None
        return logits

    def kept_tree(token: int, tree: Sequence[int], parents: Sequence[int]) -> Logits:
        logits = advance_tree(token, tree, parents)
        seen.logits, seen.tree = logits.copy(), Tree(tuple(tree), tuple(parents))
        return logits

    def taken(path: Sequence[int]) -> None:
        seen.logits = seen.logits[[0, *(node + 1 for node in path)]]
        seen.tree = seen.tree and replace(seen.tree, path=tuple(path))
        take(path)

    watching: dict[str, Callable[..., object]] = {"advance": kept}
    if isinstance(target, BranchingModel):
        advance_tree, take = target.advance_tree, target.take
        watching |= {"advance_tree": kept_tree, "take": taken}
    before = {name: getattr(target, name) for name in watching}
    for name, function in watching.items():
        setattr(target, name, function)
    try:
        yield seen
    finally:
        for name, function in before.items():
            setattr(target, name, function)
