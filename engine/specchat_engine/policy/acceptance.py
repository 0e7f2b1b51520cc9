"""How likely a drafted token is accepted: one predictor for all drafters and all kinds of text.

A drafted token is judged by the evidence for it: the drafter's confidence, or the length of the match that it
continues. Evidence is divided into classes. For each drafter and kind of text the predictor learns which share of the
tokens of each class is accepted. This calibrates confidences: a drafter that is always sure and always wrong soon loses
its credit.

A new drafter uses one of the sorts of evidence in DrafterTraits: "confidence", "match" or "nothing". A new sort needs a
row in `EVIDENCE` and a case in `weigh`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from specchat_engine.decoding.drafts import DrafterTraits, Prospect
from specchat_engine.policy.sharpness import Sharpness
from specchat_engine.policy.trend import Trend

_EXPECTED = 2.0
"""The weight of the initial estimate of a class, in tokens."""

_FADE = 0.98
"""How much of its weight a token keeps with each further token of its class. So about the last fifty tokens of each
class count, and the shares follow the text."""

_SHARPNESS = "sharpness"
"""The key of what is known about sharpening, beside the sorts of evidence."""

RUNNER_UP, COUNTED = "runner-up", "counted runner-up"
"""The evidence for a runner-up: the confidence in the token that it would replace, or its own share of a count."""

AGREED, VOTE = "agreed match", "vote"
"""The evidence for tokens that a match adds to a draft with which it agrees, and whose evidence that is."""

OWN_EVIDENCE = ("confidence", "nothing")
"""The evidence for the tokens that a draft model or a head drafts."""

PASTED = "pasted"
_LONG_REQUEST = 280
_CODE = re.compile(
    r"```|\b(code|function|class|method|script|python|javascript|rust|sql|query|json|yaml|html|regex|bash|def|import)\b",
    re.IGNORECASE,
)
_FREE = re.compile(r"\b(story|stories|tale|poem|song|rhyme|joke|essay|letter|dialogue|imagine|invent)\b", re.IGNORECASE)


def kind_of(request: str) -> str:
    """The kind of text that a request asks for, as a rough guess. Drafts of the same kind are accepted equally often.

    "pasted" if the request includes a text to work on, "code" if it is about code, "free" if something is to be made
    up, else "prose".
    """
    first, _, rest = request.strip().partition("\n")
    if rest.strip() or len(first) > _LONG_REQUEST:
        return PASTED
    if _CODE.search(request):
        return "code"
    return "free" if _FREE.search(request) else "prose"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The classes of one sort of evidence, separated by `edges`.

    These are the initial estimates: `expected[c]` is the share of the tokens in class c that are accepted, and
    `usual[c]` the share of the drafted tokens that are in class c.
    """

    edges: tuple[float, ...]
    expected: tuple[float, ...]
    usual: tuple[float, ...]

    def classify(self, value: float) -> int:
        """The class of a confidence in 0…1, or of the length of a match in tokens."""
        return bisect_right(self.edges, value)


_LENGTHS = (3, 4, 5, 7, 9, 13, 17, 25)
_ANY_LENGTH = (1 / 9,) * 9
EVIDENCE = {
    "confidence": Evidence(
        edges=(0.3, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.997),
        expected=(0.25, 0.42, 0.58, 0.72, 0.85, 0.92, 0.96, 0.98, 0.99, 0.995),
        usual=(0.08, 0.12, 0.08, 0.08, 0.08, 0.08, 0.1, 0.1, 0.13, 0.15),
    ),
    # Whether the token that a drafter would have drafted instead is right.
    RUNNER_UP: Evidence(
        edges=(0.3, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.997),
        expected=(0.22, 0.21, 0.2, 0.14, 0.08, 0.05, 0.02, 0.01, 0.005, 0.002),
        usual=(0.08, 0.12, 0.08, 0.08, 0.08, 0.08, 0.1, 0.1, 0.13, 0.15),
    ),
    # The same by the share of the places that it followed at.
    COUNTED: Evidence((0.1, 0.2, 0.3, 0.4), (0.04, 0.1, 0.15, 0.16, 0.22), (0.2,) * 5),
    "match": Evidence(_LENGTHS, (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93), _ANY_LENGTH),
    # A match that agrees with the drafted tokens before.
    AGREED: Evidence(_LENGTHS, (0.6, 0.7, 0.75, 0.8, 0.85, 0.88, 0.9, 0.93, 0.95), _ANY_LENGTH),
    # All answers begin after the same tokens of the chat template, so a short match means nothing there.
    "opening match": Evidence(_LENGTHS, (0.05, 0.05, 0.1, 0.1, 0.2, 0.3, 0.6, 0.85, 0.9), _ANY_LENGTH),
    # After an edit a copy often resumes where it stopped, so even one matching token means much.
    "resumed match": Evidence(_LENGTHS, (0.7, 0.8, 0.83, 0.86, 0.88, 0.9, 0.91, 0.92, 0.93), _ANY_LENGTH),
    "nothing": Evidence((), (0.7,), (1.0,)),
}


def evidence_for(drafter: DrafterTraits, prospect: Prospect, *, opening: bool) -> str:
    """The sort of evidence for a draft, a key of `EVIDENCE`; `opening` is True in the first tokens of an answer."""
    if drafter.evidence != "match":
        return drafter.evidence
    return "resumed match" if prospect.resumed else "opening match" if opening else "match"


def evidence_for_runner_up(drafter: DrafterTraits) -> str:
    """The sort of evidence for the runners-up of a drafter, a key of `EVIDENCE`."""
    return COUNTED if drafter.evidence == "match" else RUNNER_UP


class Shares:
    """Counts of one drafter's drafted and accepted tokens on one kind of text, by class of evidence."""

    def __init__(self, evidence: Evidence) -> None:
        classes = len(evidence.expected)
        self._classify = evidence.classify
        self._expected, self._usual = evidence.expected, evidence.usual
        self._accepted = [0.0] * classes
        self._tested = [0.0] * classes
        self._frequency = [0.0] * classes
        self._trend = Trend()

    def in_answer(self, trend: Trend) -> Shares:
        """The same counts, as they are shifted by how the tokens of an answer fare."""
        view = copy(self)
        view._trend = trend
        return view

    @property
    def accepted(self) -> float:
        """How many accepted tokens are remembered, all classes together. Older ones count less."""
        return sum(self._accepted)

    @property
    def tested(self) -> float:
        """How many compared tokens are remembered."""
        return sum(self._tested)

    @property
    def known(self) -> bool:
        """Whether any drafted token was compared with the target's choice."""
        return any(self._tested)

    def observe(self, evidence_class: int, *, accepted: bool) -> None:
        """Learns whether a token of this class was accepted. The shares of the other classes stay as they are."""
        self._accepted[evidence_class] = self._accepted[evidence_class] * _FADE + accepted
        self._tested[evidence_class] = self._tested[evidence_class] * _FADE + 1
        self._frequency[:] = [count * _FADE for count in self._frequency]
        self._frequency[evidence_class] += 1

    def p_accept(self) -> list[float]:
        """The probability that a token is accepted if the tokens before it are, by class."""
        return [self._share(one) for one in range(len(self._expected))]

    def p_of(self, value: float) -> float:
        """The same for a token with this evidence."""
        return self._share(self._classify(value))

    def _share(self, one: int) -> float:
        share = (self._accepted[one] + _EXPECTED * self._expected[one]) / (self._tested[one] + _EXPECTED)
        return self._trend.shift(share)

    def frequency(self) -> list[float]:
        """The share of the drafted tokens that are in each class; the sum is 1."""
        total = sum(self._frequency) + _EXPECTED
        return [(seen + _EXPECTED * share) / total for seen, share in zip(self._frequency, self._usual, strict=True)]

    def to_json(self) -> dict[str, list[float]]:
        """What to keep for the next start."""
        return {
            "accepted": [round(count, 3) for count in self._accepted],
            "tested": [round(count, 3) for count in self._tested],
            "frequency": [round(count, 3) for count in self._frequency],
        }

    def take(self, kept: Mapping[str, Any]) -> None:
        """Reads what `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        accepted, tested, frequency = ([float(count) for count in kept[name]] for name in self.to_json())
        sound = all(0 <= one <= all_ < float("inf") for one, all_ in zip(accepted, tested, strict=True))
        if not (sound and len(accepted) == len(frequency) == len(self._expected) and min(frequency) >= 0):
            raise ValueError("these are no counts of accepted tokens")
        self._accepted, self._tested, self._frequency = accepted, tested, frequency


class Acceptance:
    """The predictor: shares by kind of text, drafter and sort of evidence."""

    def __init__(self) -> None:
        self._shares: dict[tuple[str, str, str], Shares] = {}
        self._sharpness: dict[tuple[str, str], Sharpness] = {}

    def of(self, kind: str, drafter: str, evidence: str) -> Shares:
        """The shares of a drafter on a kind of text, for this sort of evidence."""
        return self._shares.setdefault((kind, drafter, evidence), Shares(EVIDENCE[evidence]))

    def share_of(self, drafter: str) -> float:
        """The share of a drafter's compared tokens that were accepted, over all kinds of text; 0 without any."""
        own = [shares for (_, name, sort), shares in self._shares.items() if name == drafter and sort in OWN_EVIDENCE]
        tested = sum(shares.tested for shares in own)
        return sum(shares.accepted for shares in own) / tested if tested else 0.0

    def sharpness(self, kind: str, drafter: str) -> Sharpness:
        """How much a drafter should sharpen its rows on a kind of text."""
        return self._sharpness.setdefault((kind, drafter), Sharpness())

    def learn(
        self,
        kind: str,
        drafter: str,
        evidence: str,
        values: Sequence[float],
        accepted: int,
        trend: Trend | None = None,
    ) -> None:
        """Learns from the compared tokens of a draft, of which the first `accepted` were accepted.

        `values[i]` is the evidence for token i: a confidence, or the length of the match that it continued. `trend` is
        that of the answer.
        """
        shares, classify = self.of(kind, drafter, evidence), EVIDENCE[evidence].classify
        for index, value in enumerate(values):
            if trend:
                trend.observe(shares.p_of(value), accepted=index < accepted)
            shares.observe(classify(value), accepted=index < accepted)

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next start: by kind of text, drafter and sort of evidence."""
        kept: dict[str, Any] = {}
        for (kind, drafter, evidence), shares in self._shares.items():
            if shares.known:
                kept.setdefault(kind, {}).setdefault(drafter, {})[evidence] = shares.to_json()
        for (kind, drafter), sharpness in self._sharpness.items():
            if sharpness.known:
                kept.setdefault(kind, {}).setdefault(drafter, {})[_SHARPNESS] = sharpness.to_json()
        return kept

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Acceptance:
        """Reads what `to_json` wrote. Raises KeyError, TypeError, ValueError or AttributeError for anything else."""
        acceptance = cls()
        for kind, drafters in kept.items():
            for drafter, sorts in drafters.items():
                for evidence, shares in sorts.items():
                    if evidence == _SHARPNESS:
                        acceptance.sharpness(str(kind), str(drafter)).take(shares)
                    else:
                        acceptance.of(str(kind), str(drafter), evidence).take(shares)
        return acceptance
