"""How likely a drafted token is accepted: a Beta posterior for each kind of text, drafter and class of evidence.

A drafted token is judged by the evidence for it: the drafter's confidence, or the length of the match that it
continues. Evidence is divided into classes. A draft, and a match that nobody drafted from, count alike, since every
round shows what either would have got. A drafter that is always sure and always wrong soon loses its credit, in all
classes at once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import sqrt
from typing import Any

from specchat_engine.decoding.drafts import DrafterTraits, Prospect
from specchat_engine.policy.sharpness import Sharpness

_PRIOR = 2.0
"""The weight of the prior of a class, in tokens."""

_FORGET = 0.998
"""How much of its weight what is known of a drafter keeps with each round in which it could draft and did not. So it is
tried again after some hundred rounds."""

_ANSWER = 24.0
"""What is known of a kind of text weighs as much as this many tokens of the answer itself."""

_FADE = 0.98
"""How much of its weight a token keeps with each further token of its class. So about the last fifty tokens of each
class count, and the shares follow the text."""

_SHARPNESS = "sharpness"
"""The key of what is known about sharpening, beside the kinds of evidence."""

RUNNER_UP, COUNTED = "runner-up", "counted runner-up"
"""The evidence for a runner-up: the confidence in the token that it would replace, or its own share of a count."""

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
    """The classes of one kind of evidence, separated by `edges`.

    These are the first priors: `expected[c]` is the share of the tokens in class c that are accepted, and `usual[c]`
    the share of the drafted tokens that are in class c, for evidence that is known only while drafting.
    """

    edges: tuple[float, ...]
    expected: tuple[float, ...]
    usual: tuple[float, ...] = ()

    def classify(self, value: float) -> int:
        """Returns the class of a confidence in 0…1, of the length of a match in tokens."""
        return bisect_right(self.edges, value)


_LENGTHS = (3, 4, 5, 7, 9, 13, 17, 25)
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
    ),
    # The same by the share of the places that it followed at.
    COUNTED: Evidence((0.1, 0.2, 0.3, 0.4), (0.04, 0.1, 0.15, 0.16, 0.22)),
    "match": Evidence(_LENGTHS, (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93)),
    # All answers begin after the same tokens of the chat template, so a short match means nothing there.
    "opening match": Evidence(_LENGTHS, (0.05, 0.05, 0.1, 0.1, 0.2, 0.3, 0.6, 0.85, 0.9)),
    # After an edit a copy often resumes where it stopped, so even one matching token means much.
    "resumed match": Evidence(_LENGTHS, (0.7, 0.8, 0.83, 0.86, 0.88, 0.9, 0.91, 0.92, 0.93)),
    "nothing": Evidence((), (0.7,)),
    # By how many certain tokens are left; nothing is learned.
    "certain": Evidence((1,), (0.0, 1.0)),
}


def evidence_for(drafter: DrafterTraits, prospect: Prospect, *, opening: bool) -> str:
    """Returns the kind of evidence for a draft, a key of `EVIDENCE`; `opening`: in the first tokens of an answer."""
    if drafter.evidence != "match":
        return drafter.evidence
    return "resumed match" if prospect.resumed else "opening match" if opening else "match"


def evidence_for_runner_up(drafter: DrafterTraits) -> str:
    """Returns the kind of evidence for the runners-up of a drafter, a key of `EVIDENCE`."""
    return COUNTED if drafter.evidence == "match" else RUNNER_UP


@dataclass(slots=True)
class Trend:
    """How the tokens of one answer fare, compared with what its kind of text lets expect.

    Kinds of text are coarse. A draft that knows half of a kind is accepted half of the time on average, and in each
    answer nearly always or hardly ever.
    """

    compared: int = 0
    accepted: int = 0
    foreseen: float = 0.0

    def observe(self, foreseen: float, *, accepted: bool) -> None:
        """Counts a token that was accepted with this probability by what is known of its kind of text."""
        self.compared += 1
        self.accepted += accepted
        self.foreseen += foreseen

    def shift(self, p: float) -> float:
        """Returns a probability of acceptance as it is in this answer: what came less often than foreseen shrinks."""
        if self.accepted <= self.foreseen:
            return p * (self.accepted + _ANSWER) / (self.foreseen + _ANSWER)
        rejected, foreseen = self.compared - self.accepted, self.compared - self.foreseen
        return 1 - (1 - p) * (rejected + _ANSWER) / (foreseen + _ANSWER)


class Posterior:
    """What is known of one drafter's tokens on one kind of text: decayed counts for each class of evidence."""

    def __init__(self, evidence: Evidence) -> None:
        classes = len(evidence.expected)
        self._evidence = evidence
        self._accepted = [0.0] * classes
        self._tested = [0.0] * classes
        self._frequency = [0.0] * len(evidence.usual)
        self._trend = Trend()

    def in_answer(self, trend: Trend) -> Posterior:
        """Returns the same counts, shifted by how the tokens of an answer fare."""
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
        """Learns whether a token of this class was accepted."""
        self._accepted[evidence_class] = self._accepted[evidence_class] * _FADE + accepted
        self._tested[evidence_class] = self._tested[evidence_class] * _FADE + 1
        if self._frequency:
            self._frequency[:] = [count * _FADE for count in self._frequency]
            self._frequency[evidence_class] += 1

    def forget(self) -> None:
        """Forgets a little: what is not tried may have changed."""
        for counts in (self._accepted, self._tested, self._frequency):
            counts[:] = [count * _FORGET for count in counts]

    def p_accept(self) -> list[float]:
        """Returns the probability that a token is accepted if the tokens before it are, for each class."""
        return [self._mean(index) for index in range(len(self._tested))]

    def p_of(self, value: float) -> float:
        """Returns the same probability for a token with this evidence."""
        return self._mean(self._evidence.classify(value))

    def by_class(self) -> list[tuple[float, float]]:
        """Returns the mean and the standard deviation of that probability for each class."""
        return [(p, self._deviation(p, tested)) for p, tested in zip(self.p_accept(), self._tested, strict=True)]

    def average(self) -> tuple[float, float]:
        """Returns the mean and the standard deviation of that probability for a token of unknown evidence."""
        mean = sum(p * often for p, often in zip(self.p_accept(), self.frequency(), strict=True))
        return mean, self._deviation(mean, self.tested)

    def frequency(self) -> list[float]:
        """Returns the share of the drafted tokens that are in each class; the sum is 1. Only known of confidences."""
        total = sum(self._frequency) + _PRIOR
        return [
            (seen + _PRIOR * share) / total for seen, share in zip(self._frequency, self._evidence.usual, strict=True)
        ]

    def _mean(self, index: int) -> float:
        prior = self._evidence.expected[index]
        return self._trend.shift((self._accepted[index] + _PRIOR * prior) / (self._tested[index] + _PRIOR))

    def _deviation(self, mean: float, tested: float) -> float:
        """Returns how far the acceptance in this answer may be from the mean: answers of one kind of text differ."""
        return sqrt(mean * (1 - mean) / (min(tested + _PRIOR, _ANSWER) + self._trend.compared + 1))

    def to_json(self) -> dict[str, list[float]]:
        """Returns what to keep for the next start."""
        return {
            "accepted": [round(count, 3) for count in self._accepted],
            "tested": [round(count, 3) for count in self._tested],
            "frequency": [round(count, 3) for count in self._frequency],
        }

    def take(self, counts: Mapping[str, Any]) -> None:
        """Reads what `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        accepted, tested, frequency = ([float(count) for count in counts[name]] for name in self.to_json())
        frequency = frequency[: len(self._frequency)]
        if [len(accepted), len(frequency)] != [len(self._accepted), len(self._frequency)]:
            raise ValueError("these are counts of other classes")
        sound = all(0 <= right <= count < float("inf") for right, count in zip(accepted, tested, strict=True))
        if not (sound and all(0 <= count < float("inf") for count in frequency)):
            raise ValueError("these are not counts of accepted tokens")
        self._accepted, self._tested, self._frequency = accepted, tested, frequency


class Acceptance:
    """The posteriors by kind of text, drafter and kind of evidence."""

    def __init__(self) -> None:
        self._posteriors: dict[tuple[str, str, str], Posterior] = {}
        self._sharpness: dict[tuple[str, str], Sharpness] = {}

    def of(self, kind: str, drafter: str, evidence: str) -> Posterior:
        """Returns what is known of a drafter on a kind of text, for this kind of evidence."""
        key = kind, drafter, evidence
        if key not in self._posteriors:
            self._posteriors[key] = Posterior(EVIDENCE[evidence])
        return self._posteriors[key]

    def sharpness(self, kind: str, drafter: str) -> Sharpness:
        """Returns how much a drafter should sharpen its rows on a kind of text."""
        return self._sharpness.setdefault((kind, drafter), Sharpness())

    def learn(
        self, kind: str, drafter: str, evidence: str, values: Sequence[float], accepted: int, trend: Trend | None = None
    ) -> None:
        """Learns from the compared tokens of a draft. The first `accepted` of them were accepted.

        `values[i]` is the evidence for token i. `trend` is that of the answer.
        """
        classify = EVIDENCE[evidence].classify
        for index, value in enumerate(values):
            if trend:
                trend.observe(self.of(kind, drafter, evidence).p_of(value), accepted=index < accepted)
            self.of(kind, drafter, evidence).observe(classify(value), accepted=index < accepted)

    def to_json(self) -> dict[str, Any]:
        """Returns what to keep for the next start: by kind of text, drafter and kind of evidence."""
        record: dict[str, Any] = {}
        for (kind, drafter, evidence), posterior in self._posteriors.items():
            if posterior.known:
                record.setdefault(kind, {}).setdefault(drafter, {})[evidence] = posterior.to_json()
        for (kind, drafter), sharpness in self._sharpness.items():
            if sharpness.known:
                record.setdefault(kind, {}).setdefault(drafter, {})[_SHARPNESS] = sharpness.to_json()
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Acceptance:
        """Reads what `to_json` wrote. Raises KeyError, TypeError, ValueError or AttributeError for anything else."""
        acceptance = cls()
        for kind, drafters in sorted(record.items()):
            for drafter, evidences in drafters.items():
                for evidence, counts in evidences.items():
                    if evidence == _SHARPNESS:
                        acceptance.sharpness(str(kind), str(drafter)).take(counts)
                    elif evidence in EVIDENCE:  # older versions knew others
                        acceptance.of(str(kind), str(drafter), evidence).take(counts)
        return acceptance
