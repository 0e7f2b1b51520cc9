"""Repeats each decision of a recorded answer from the logits of its passes: probabilities, draws and tests.

A text that equals plain decoding shows that no decision went wrong, and not that the rule is right: a wrong rule
decides rightly most of the time, and rejection sampling promises no text at all. Here each probability that a round
reports, and each token that it took, is computed a second time by `reference`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from specchat_engine.analysis.recording import Logits, RecordedPass, Recording
from specchat_engine.analysis.reference import Law, law
from specchat_engine.decoding.verification import DRAWS, TESTS
from specchat_engine.sampling.noise import stream_seed, uniform
from specchat_engine.settings import Settings

_CLOSE = 1e-6
"""Numbers this close are equal, and decisions by less than this can go either way."""

_UNSURE = 0.9
"""Acceptance is only predicted for tokens with p + q below this: for others the bound says little."""

_DEVIATIONS = 5.0
"""Acceptance this many standard deviations below the bound is a bug; chance does that once in millions of runs."""


def faults(
    each: RecordedPass, logits: Logits, before: Sequence[int], position: int, seed: int, settings: Settings
) -> Iterator[tuple[int, str]]:
    """Where in one pass the rule does not lead to what was recorded, from 0, and what is wrong there, in words.

    `logits` are those of the pass, minus infinity where a grammar excludes a token; `before` is the text before it and
    `position` its first output position.
    """
    own = each.emitted[each.accepted] if len(each.emitted) > each.accepted else None
    laws: list[Law] = []
    depths = each.depths
    for offset in range(each.accepted + (own is not None)):
        distribution = law(logits[offset], settings.sampling, [*before, *each.drafted[:offset]])
        laws.append(distribution)
        if distribution.slack < _CLOSE:
            return  # rounding decides what survives
        reported = [(token, p) for token, p, depth in zip(each.drafted, each.p, depths, strict=True) if depth == offset]
        reported += [(own, each.own_p)] if own is not None and offset == each.accepted else []
        for token, p in reported:
            expected = distribution.probability(token)
            if p is not None and abs(p - expected) > _CLOSE:
                yield offset, f"token {token} had p {p:.6f}, and by the rule it has {expected:.6f}"
    couples = settings.verifier == "coupled" or settings.sampling.temperature == 0  # greedily all rules are one
    if couples:
        yield from _wrong_draws(each, laws, own, seed, position)
    elif not each.drafted:
        yield from _wrong_own(own, laws[0], [(seed, position), (stream_seed(seed, DRAWS, position), 0)])
    elif settings.verifier == "rejection":
        yield from _wrong_tests(each, laws, stream_seed(seed, TESTS, position))
    elif own is not None and each.q[0] is None:
        more = [
            law(logits[offset], settings.sampling, [*before, *each.drafted[:offset]])
            for offset in range(len(laws), len(each.drafted))
        ]
        yield from _wrong_block(each, [*laws, *more], stream_seed(seed, TESTS, position))
    q_reported = each.drafted[each.accepted :] and each.q[each.accepted] is not None
    if own is not None and each.drafted and not (couples or q_reported):
        distribution = laws[each.accepted]
        if each.accepted < len(each.drafted):
            distribution = distribution.without(each.drafted[each.accepted])
        yield from _wrong_own(own, distribution, [(stream_seed(seed, DRAWS, position), each.accepted)], each.accepted)


def _wrong_draws(
    each: RecordedPass, laws: Sequence[Law], own: int | None, seed: int, position: int
) -> Iterator[tuple[int, str]]:
    """Emitted tokens that are not the target's draws with the noise of their positions."""
    for offset, distribution in enumerate(laws):
        token = own if offset == each.accepted else each.drafted[offset]
        yield from _wrong_own(token, distribution, [(seed, position + offset)], offset)


def _wrong_own(
    own: int | None, distribution: Law, noises: Sequence[tuple[int, int]], offset: int = 0
) -> Iterator[tuple[int, str]]:
    """A token that is drawn with none of these noises, each a seed and a position."""
    drawn = [distribution.draw(*noise) for noise in noises]
    if own not in [token for token, _ in drawn] and all(lead > _CLOSE for _, lead in drawn):
        yield offset, f"the answer says token {own}, and the rule draws token {drawn[0][0]}"


def _wrong_tests(each: RecordedPass, laws: Sequence[Law], tests: int) -> Iterator[tuple[int, str]]:
    """Drafted tokens that were accepted or rejected although the ratio of p and q says otherwise."""
    for offset, distribution in enumerate(laws[: len(each.drafted)]):
        q, test = each.q[offset], uniform(tests, offset)
        ratio = distribution.probability(each.drafted[offset]) / (1.0 if q is None else q)
        accepted = offset < each.accepted
        if (test < ratio) != accepted and abs(test - ratio) > _CLOSE * max(1.0, ratio):
            was = "accepted" if accepted else "rejected"
            yield offset, f"token {each.drafted[offset]} was {was}: p / q is {ratio:.4f}, the test's number {test:.4f}"


def _wrong_block(each: RecordedPass, laws: Sequence[Law], tests: int) -> Iterator[tuple[int, str]]:
    """A prefix that block verification does not accept. Only for drafts that are point masses: rounds report no q.

    Then w_i is the product of the first i p(y), and s_i = w_i (1 - p(y_(i+1))).
    """
    weight, longest = 1.0, 0
    shares = [distribution.probability(token) for token, distribution in zip(each.drafted, laws, strict=False)]
    for offset, share in enumerate(shares):
        weight *= share
        spare = weight * (1 - shares[offset + 1]) if offset + 1 < len(shares) else 0.0
        left = spare + 1 - weight
        passing = weight if offset + 1 == len(shares) else spare / left if left > 0 else 1.0
        test = uniform(tests, offset)
        if abs(test - passing) < _CLOSE:
            return
        longest = offset + 1 if test < passing else longest
    if longest != each.accepted:
        yield each.accepted, f"{each.accepted} drafted tokens were accepted, and by the rule {longest} are"


@dataclass(slots=True)
class AcceptanceCheck:
    """Compares how often drafts that share the target's noise are accepted with what that noise guarantees.

    A token y that was drawn from q with the noise with which the target draws from p is the target's with a
    probability of at least p(y) / (p(y) + q(y)): P(x = y) = 1 / Σ_v max(p_v / p_y, q_v / q_y) by Daliri, Musco, Suresh,
    and that sum is at most 1 / p_y + 1 / q_y. With other noise it would be p(y). Each position counts once, and trees
    do not, since their runners-up are not draws.
    """

    expected: float = 0.0
    variance: float = 0.0
    accepted: int = 0
    _seen: set[tuple[str, int, int]] = field(default_factory=set)

    def observe(self, text: str, recording: Recording) -> None:
        """Counts the compared tokens of an answer. Answers with the same `text` have the same tokens."""
        position = 0
        for each in recording.passes:
            chain = () if each.parents else zip(each.drafted, each.p, each.q, strict=True)
            for offset, (token, p, q) in enumerate(chain):
                key = (text, position + offset, token)
                if p and q and p + q < _UNSURE and key not in self._seen:
                    self._seen.add(key)
                    bound = p / (p + q)
                    self.expected += bound
                    self.variance += bound * (1 - bound)
                    self.accepted += offset < each.accepted
            position += len(each.emitted)

    @property
    def fault(self) -> str:
        """What is wrong; empty if nothing is."""
        if self.accepted >= self.expected - _DEVIATIONS * math.sqrt(self.variance):
            return ""
        return (
            f"{self.accepted} of {len(self._seen)} drafted tokens were accepted, at least {self.expected:.0f} were "
            "expected: the drafter does not draw with the target's noise"
        )
