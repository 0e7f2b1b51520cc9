"""The events of decoding: one `Round` is one draft and the one target pass that verified it.

A round as JSON is the contract that `--json`, trace files, replay and the app share. Nothing here is meant to be
changed once made; the classes are not frozen because that triples the time of making one, of which a round needs a
dozen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

BY_MODEL = frozenset(("model", "translated"))
"""The sources of rounds that a draft model drafted: in the target's tokens, or through text."""


class Outcome(StrEnum):
    """What became of a drafted token."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    DISCARDED = "discarded"


class TokenKind(StrEnum):
    """Why the target's own token stands at the end of a round."""

    CORRECTION = "correction"
    BONUS = "bonus"
    PLAIN = "plain"
    NONE = "none"


@dataclass(slots=True)
class DraftedToken:
    """One drafted token; q and p are the rule's probabilities, None where there is none or it was not computed."""

    id: int
    text: str
    q: float | None
    p: float | None
    outcome: Outcome

    def to_json(self) -> dict[str, Any]:
        """The token as it stands in a trace."""
        return {"id": self.id, "text": self.text, "q": self.q, "p": self.p, "outcome": self.outcome.value}


@dataclass(slots=True)
class TargetToken:
    """The target's own token at the end of a round; id None and text empty where an accepted token ended the answer."""

    id: int | None
    text: str
    p: float | None
    kind: TokenKind

    def to_json(self) -> dict[str, Any]:
        """The token as it stands in a trace."""
        return {"id": self.id, "text": self.text, "p": self.p, "kind": self.kind.value}


@dataclass(slots=True)
class Candidate:
    """One of the target's best candidates at the round's last position, with its probability after truncation."""

    id: int
    text: str
    p: float


@dataclass(slots=True)
class RoundTimes:
    """Milliseconds of the draft's passes, the target's pass, everything else in the round, and going back behind
    tokens that were not accepted (0 in traces from before it was counted)."""

    draft: float
    verify: float
    other: float
    rollback: float = 0.0


Filling = tuple[Callable[..., None], *tuple[Any, ...]]
"""A function that sets all fields of the round that it is given, and the arguments behind that one."""


class _Deferred:
    """Room for how a round is filled in, where nobody has looked at it yet."""

    __slots__ = ("_filling",)
    _filling: Filling | None


_set_filling = _Deferred.__dict__["_filling"].__set__
"""The type checker knows the slots of a dataclass only."""


@dataclass(slots=True)
class Round(_Deferred):
    """One draft, verified. `k` is what was allowed, `reason` why; `t_ms` is the time since the turn began."""

    index: int
    source: str
    k: int
    reason: str
    drafted: tuple[DraftedToken, ...]
    token: TargetToken
    top: tuple[Candidate, ...]
    ms: RoundTimes
    t_ms: float

    @classmethod
    def deferred(cls, filling: Filling) -> Self:
        """A round that is filled in when it is first looked at: right behind a pass that costs several times what it
        costs later, when caches are warm and rounds are read together."""
        made = cls.__new__(cls)
        _set_filling(made, filling)
        return made

    def settle(self) -> None:
        """Fills the round in now, if that is still to be done; from any thread."""
        filling = getattr(self, "_filling", None)
        if filling is not None:
            fill, *given = filling
            fill(self, *given)
            _set_filling(self, None)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Python asks for it where a slot is empty."""
            if name not in _FIELDS:
                raise AttributeError(f"a round has no {name!r}")
            self.settle()
            return object.__getattribute__(self, name)

    @property
    def num_accepted(self) -> int:
        """How many drafted tokens were accepted; they come first in `drafted`."""
        return sum(token.outcome is Outcome.ACCEPTED for token in self.drafted)

    @property
    def num_emitted(self) -> int:
        """Tokens that this round added to the answer."""
        return self.num_accepted + (self.token.kind is not TokenKind.NONE)

    @property
    def text(self) -> str:
        """The text that this round added to the answer, before any stop string cut it."""
        accepted = (token.text for token in self.drafted if token.outcome is Outcome.ACCEPTED)
        return "".join(accepted) + self.token.text

    def to_json(self) -> dict[str, Any]:
        """The round as one line of a trace."""
        return {
            "type": "round",
            "index": self.index,
            "source": self.source,
            "k": self.k,
            "reason": self.reason,
            "drafted": [token.to_json() for token in self.drafted],
            "token": self.token.to_json(),
            "top": [{"id": best.id, "text": best.text, "p": best.p} for best in self.top],
            "ms": {
                "draft": self.ms.draft,
                "verify": self.ms.verify,
                "rollback": self.ms.rollback,
                "other": self.ms.other,
            },
            "t_ms": self.t_ms,
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Round:
        """Reads what `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        return cls(
            index=line["index"],
            source=line["source"],
            k=line["k"],
            reason=line["reason"],
            drafted=tuple(
                DraftedToken(token["id"], token["text"], token["q"], token["p"], Outcome(token["outcome"]))
                for token in line["drafted"]
            ),
            token=TargetToken(
                line["token"]["id"], line["token"]["text"], line["token"]["p"], TokenKind(line["token"]["kind"])
            ),
            top=tuple(Candidate(best["id"], best["text"], best["p"]) for best in line["top"]),
            ms=RoundTimes(**line["ms"]),
            t_ms=line["t_ms"],
        )


_FIELDS = frozenset(field.name for field in fields(Round))
