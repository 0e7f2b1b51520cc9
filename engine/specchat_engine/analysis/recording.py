"""One answer as the audit keeps it: what each pass drafted and emitted, and a look at the logits that decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.rounds import Round
from specchat_engine.models import SessionModel
from specchat_engine.session import Session

Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Pass:
    """One round in ids: what was drafted, and what was emitted.

    `p` and `q` have the probabilities that the round told for the drafted tokens, `own_p` that of the target's own
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

    @classmethod
    def of(cls, event: Round) -> Pass:
        """What a round tells."""
        drafted, own = tuple(token.id for token in event.drafted), event.token.id
        return cls(
            drafted,
            (*drafted[: event.num_accepted], *(() if own is None else (own,))),
            tuple(token.p for token in event.drafted),
            tuple(token.q for token in event.drafted),
            event.token.p,
            event.num_accepted,
            next((candidate.id for candidate in event.top if candidate.id != own), -1),
            bool(event.top) and event.top[0].id != own,
        )


@dataclass(frozen=True, slots=True)
class Recording:
    """One answer and the passes that made it."""

    prompt: tuple[int, ...]
    seed: int
    passes: tuple[Pass, ...]

    @property
    def tokens(self) -> tuple[int, ...]:
        """The answer."""
        return tuple(token for each in self.passes for token in each.emitted)


def record(session: Session, prompt: str, hear: Callable[[Pass], None] = lambda _: None) -> Recording:
    """Answers a prompt and records the tokens of each pass. `hear` gets each pass as soon as it was made."""
    passes = []
    for event in session.generate(prompt):
        passes.append(Pass.of(event))
        hear(passes[-1])
    return Recording(tuple(session.prompt_ids), session.turn_seed, tuple(passes))


@contextmanager
def watched(target: SessionModel) -> Iterator[Callable[[], Logits]]:
    """Meanwhile gives, whenever it is called, the logits of the latest pass that gave some."""
    advance, latest = target.advance, np.empty((0, 0), np.float32)

    def kept(tokens: Sequence[int], rows: int) -> Logits:
        nonlocal latest
        logits = advance(tokens, rows)
        if rows:
            latest = logits.copy()
        return logits

    target.advance = kept  # type: ignore[method-assign]
    try:
        yield lambda: latest
    finally:
        target.advance = advance  # type: ignore[method-assign]
