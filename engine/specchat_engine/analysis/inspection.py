"""What `Session.inspect` tells of one output position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from specchat_engine.sampling.params import SamplingParams


@dataclass(frozen=True, slots=True)
class InspectedToken:
    """What both models make of one token. `raw_p` and `raw_q` are the softmax of their logits, before anything.

    `p` and `q` are the rule's own, after all stages, and ranks count from 1, by the raw logits. What belongs to the
    draft model is None where there is none, or where its context is too short. `removed_by` is the stage that took the
    token from the target: "grammar", "logit-bias" (a ban), "top-k", "typical-p", "top-p", "min-p", "temperature" (0
    leaves the best alone), or None.
    """

    id: int
    text: str
    raw_p: float
    rank: int
    p: float
    removed_by: str | None = None
    raw_q: float | None = None
    draft_rank: int | None = None
    q: float | None = None


@dataclass(frozen=True, slots=True)
class Inspection:
    """One output position, looked at again: `said` is the token that the answer has there.

    `tokens` holds the best ones, the one that was said and those that were asked for, by rank; `sampling` the
    parameters that p and q follow.
    """

    position: int
    said: int
    tokens: tuple[InspectedToken, ...]
    sampling: SamplingParams

    def of(self, token: int) -> InspectedToken:
        """What is told of a token. Raises KeyError where nothing is."""
        for inspected in self.tokens:
            if inspected.id == token:
                return inspected
        raise KeyError(token)

    def to_json(self) -> dict[str, Any]:
        """The inspection as JSON knows it."""
        return {
            "position": self.position,
            "said": self.said,
            "tokens": [asdict(token) for token in self.tokens],
            "sampling": self.sampling.to_json(),
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Inspection:
        """Reads what `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        sampling = {field.name: line["sampling"][field.name] for field in fields(SamplingParams)}
        return cls(
            position=line["position"],
            said=line["said"],
            tokens=tuple(InspectedToken(**token) for token in line["tokens"]),
            sampling=SamplingParams(**sampling),
        )
