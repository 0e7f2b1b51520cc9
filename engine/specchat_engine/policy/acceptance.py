"""How likely the next drafted token stands: one predictor for all drafters and all kinds of text.

It judges a drafted token by the evidence for it: how confident the drafter was of it, or how long the match is that it
continues. Evidence falls into classes, and the predictor learns, by drafter and by kind of text, which share of the
tokens of each class is accepted. A drafter's own confidence is thereby calibrated: one that is always sure and always
wrong is soon believed no longer.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specchat_engine.decoding.drafts import DrafterTraits, Prospect

_EXPECTED = 2.0
"""What is expected of a class before anything was seen counts as this many tokens, and so does a kept record."""

_FADE = 0.98
"""What a token keeps of its weight when the next one comes: some fifty tokens count, so that shares follow the text."""

PASTED = "pasted"
_LONG_REQUEST = 280
_CODE = re.compile(
    r"```|\b(code|function|class|method|script|python|javascript|rust|sql|query|json|yaml|html|regex|bash|def|import)\b",
    re.IGNORECASE,
)
_FREE = re.compile(r"\b(story|stories|tale|poem|song|rhyme|joke|essay|letter|dialogue|imagine|invent)\b", re.IGNORECASE)


def kind_of(request: str) -> str:
    """The kind of text that a request asks for, roughly: drafts are accepted alike within a kind.

    "pasted" for a request with a text to work on, "code" for one about code, "free" for something to be made up, else
    "prose".
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

    Before anything was seen, `expected[c]` is the share of the tokens in class c that stand, and `usual[c]` how often a
    drafted token falls into class c.
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
    "match": Evidence(_LENGTHS, (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93), _ANY_LENGTH),
    # All answers begin after the same tokens of the chat template, so that a short match says nothing there.
    "opening match": Evidence(_LENGTHS, (0.05, 0.05, 0.1, 0.1, 0.2, 0.3, 0.6, 0.85, 0.9), _ANY_LENGTH),
    # After an edit a copy goes on where it was left, so that even a single token says much.
    "resumed match": Evidence(_LENGTHS, (0.7, 0.8, 0.83, 0.86, 0.88, 0.9, 0.91, 0.92, 0.93), _ANY_LENGTH),
    "nothing": Evidence((), (0.7,), (1.0,)),
}


def evidence_for(drafter: DrafterTraits, prospect: Prospect, *, opening: bool) -> str:
    """The sort of evidence that a draft is judged by; `opening`: the answer has only begun."""
    if drafter.evidence != "match":
        return drafter.evidence
    return "resumed match" if prospect.resumed else "opening match" if opening else "match"


class Shares:
    """What became of the tokens that one drafter drafted on one kind of text, by class of evidence."""

    def __init__(self, evidence: Evidence) -> None:
        classes = len(evidence.expected)
        self._expected, self._usual = evidence.expected, evidence.usual
        self._accepted = [0.0] * classes
        self._tested = [0.0] * classes
        self._frequency = [0.0] * classes

    @property
    def accepted(self) -> float:
        """How many accepted tokens are remembered."""
        return sum(self._accepted)

    @property
    def known(self) -> bool:
        """Whether any token was compared yet."""
        return any(self._tested)

    def observe(self, place: int, *, stood: bool) -> None:
        """Learns whether a token of this class stood."""
        self._accepted[place] = self._accepted[place] * _FADE + stood
        self._tested[place] = self._tested[place] * _FADE + 1
        self._frequency = [count * _FADE for count in self._frequency]
        self._frequency[place] += 1

    def stands(self) -> list[float]:
        """The probability that a token stands, by class, if the tokens before it do."""
        return [
            (accepted + _EXPECTED * share) / (tested + _EXPECTED)
            for accepted, tested, share in zip(self._accepted, self._tested, self._expected, strict=True)
        ]

    def frequency(self) -> list[float]:
        """How often a drafted token falls into each class; the sum is 1."""
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

    def of(self, kind: str, drafter: str, evidence: str) -> Shares:
        """What is known of a drafter on a kind of text, by this sort of evidence."""
        return self._shares.setdefault((kind, drafter, evidence), Shares(EVIDENCE[evidence]))

    def learn(self, kind: str, drafter: str, evidence: str, values: Sequence[float], accepted: int) -> None:
        """Learns from the compared tokens of a draft, of which the first `accepted` stood.

        `values[i]` is the evidence for token i: a confidence, or the length of the match that it continued.
        """
        shares, classify = self.of(kind, drafter, evidence), EVIDENCE[evidence].classify
        for place, value in enumerate(values):
            shares.observe(classify(value), stood=place < accepted)

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next start: by kind of text, drafter and sort of evidence."""
        kept: dict[str, Any] = {}
        for (kind, drafter, evidence), shares in self._shares.items():
            if shares.known:
                kept.setdefault(kind, {}).setdefault(drafter, {})[evidence] = shares.to_json()
        return kept

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Acceptance:
        """Reads what `to_json` wrote. Raises KeyError, TypeError, ValueError or AttributeError for anything else."""
        acceptance = cls()
        for kind, drafters in kept.items():
            for drafter, sorts in drafters.items():
                for evidence, shares in sorts.items():
                    acceptance.of(str(kind), str(drafter), evidence).take(shares)
        return acceptance
