"""Several drafters about one draft: where a match agrees with it, the draft goes on; where they part, both are tried.

A drafter with passes drafts. Drafters that continue a match cost nothing, so each of them is asked what it would have
drafted. If it says the same tokens, two kinds of evidence agree, and what it says next is added as long as it is worth
the wider pass. If it says something else from some token on, that becomes a branch, if a tree is allowed and its first
token is worth a place. Which share of the added tokens is accepted is learned by the length of the match, the agreed
tokens included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import mul

from specchat_engine.decoding.drafts import Draft
from specchat_engine.policy.acceptance import Posterior
from specchat_engine.policy.early_stop import best_length
from specchat_engine.prompt.encoding import common_prefix
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.trees import chain_of

_LONGEST = 16
"""At most so many tokens are added."""


@dataclass(frozen=True, slots=True)
class Voice:
    """What a drafter with a match of `length` tokens would draft, and the shares by which its matches are judged."""

    name: str
    length: int
    tokens: tuple[int, ...]
    shares: Posterior


@dataclass(frozen=True, slots=True)
class Vote:
    """Lets the voices change a draft.

    `own` has the shares of the draft's tokens that are accepted, by their confidence, `agreed` those of tokens that are
    added. `pass_ms[w]` is the milliseconds of a target pass over w tokens, `pace` the speed to beat in tokens per
    millisecond. A branch may have at most `tree` tokens.
    """

    voices: Sequence[Voice]
    own: Posterior
    agreed: Posterior
    pass_ms: Sequence[float]
    pace: float
    tree: int = 0

    def __call__(self, draft: Draft) -> Draft:
        """The draft with what the voice with the longest match adds to it; unchanged without a confidence per token."""
        if not draft.tokens or len(draft.confidence) < len(draft.tokens):
            return draft
        reach = list(accumulate(map(self.own.p_of, draft.confidence), mul, initial=1.0))
        for voice in sorted(self.voices, key=lambda voice: -voice.length):
            same = common_prefix(draft.tokens, voice.tokens)
            if same == len(draft.tokens) < len(voice.tokens):
                return self._longer(draft, voice, reach[same])
            if same < min(len(draft.tokens), len(voice.tokens)):
                return self._branched(draft, voice, same, reach[same] - reach[same + 1])
        return draft

    def _longer(self, draft: Draft, voice: Voice, reach: float) -> Draft:
        """The draft with what the voice says next, as far as that is worth its time. `reach` is the probability that
        the whole draft is accepted."""
        count = len(draft.tokens)
        more = voice.tokens[count : count + _LONGEST]
        p_accept = [self.agreed.p_of(voice.length + count + ahead) for ahead in range(len(more))]
        added = more[: self._worth(draft, reach, p_accept)]
        if not added:
            return draft
        return replace(
            draft,
            tokens=draft.tokens + added,
            source=f"{draft.source}+{voice.name}",
            borrowed=len(added),
            rows=draft.rows and draft.rows + tuple(map(Candidates.certain, added)),
            alternatives=(),
        )

    def _branched(self, draft: Draft, voice: Voice, same: int, rejected: float) -> Draft:
        """The draft with the voice's other tokens as a branch after the first `same` ones, if they are worth it.
        `rejected` is the probability that just these are accepted."""
        branch = voice.tokens[same : same + self.tree]
        p_accept = [voice.shares.p_of(voice.length + same + ahead) for ahead in range(len(branch))]
        branch = branch[: self._worth(draft, rejected, p_accept)]
        if not branch:
            return draft
        count = len(draft.tokens)
        return replace(
            draft,
            tokens=draft.tokens + branch,
            source=f"{draft.source}+{voice.name}",
            rows=draft.rows and draft.rows + tuple(map(Candidates.certain, branch)),
            alternatives=(),
            parents=(*chain_of(count), same - 1, *range(count, count + len(branch) - 1)),
        )

    def _worth(self, draft: Draft, reach: float, p_accept: Sequence[float]) -> int:
        """How many tokens are worth the wider pass, if the target gets to them with the probability `reach` and then
        accepts each one as likely as `p_accept` says."""
        round_ms = self.pass_ms[len(draft.tokens) + 1 :][: len(p_accept) + 1]
        chances = [reach * p_accept[0], *p_accept[1:]] if p_accept else []
        return best_length(chances[: len(round_ms) - 1], round_ms, range(len(round_ms)), self.pace).k
