"""What `Session.inspect` returns for one output position. The application reads it without numpy."""

from __future__ import annotations

from dataclasses import dataclass

from specchat_engine.sampling.params import SamplingParams


@dataclass(frozen=True, slots=True)
class InspectedToken:
    """What both models make of one token. `raw_p` and `raw_q` are the softmax of the unchanged logits.

    `p` and `q` are the probabilities after all stages. Ranks count from 1, by the raw logits. The draft model's values
    are None without a draft model, or if its context is too short. `removed_by` is the stage that removed the token
    from the target's candidates: "grammar", "logit-bias" (a ban), "top-k", "typical-p", "top-p", "min-p",
    "temperature" (0 keeps the best token alone), or None.
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
    """One output position: `said` is the token that the answer has there.

    `tokens` holds the best tokens, the answer's own and those that were asked for, by rank; `sampling` has the
    parameters that p and q follow.
    """

    position: int
    said: int
    tokens: tuple[InspectedToken, ...]
    sampling: SamplingParams

    def of(self, token: int) -> InspectedToken:
        """The entry of a token. Raises KeyError if there is none."""
        for inspected in self.tokens:
            if inspected.id == token:
                return inspected
        raise KeyError(token)
