"""Which drafter drafts the next round, and how many tokens: a pure function of what is known before the round.

    E[N] = 1 + Σ_{i≤k} Π_{j≤i} a_j      E[T] = C(k+1) + the time of drafting k tokens      value = E[N] - pace · E[T]

The pace is the best rate within reach, in tokens per millisecond: that of plain decoding, or that of the best draft.
The draft with the best rate is made if that beats plain decoding, by 2 % where drafting costs passes.

How likely tokens are accepted is known more or less well. So each probability is taken three times: low, mean and high,
the nodes of a quadrature over its posterior with equal weights. The mean decides. A drafter that would gain only with
its high acceptance is explored. And the loss that is expected over all three, against plain decoding, has to fit into a
cap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

from specchat_engine.decoding.drafts import DrafterTraits, Prospect
from specchat_engine.decoding.rounds import LimitedBy
from specchat_engine.models import ALONE, SharedPass
from specchat_engine.policy.early_stop import (
    EarlyStop,
    Option,
    best_length,
    best_stopping,
    expected_tokens_by_length,
    fastest,
)
from specchat_engine.policy.trees import Branching

_WORTH_IT = 1.02
"""Drafts that cost passes must promise this many times the pace, as estimates close to 1 tend to be optimistic."""


_EXPLORES = 2.0
"""A draft that explores may be expected to lose no more plain rounds than this, whatever other drafts have gained."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What the next round can be made of: the drafters that may draft, and what each could do.

    `depth` is the length of the context, `longest` the largest number of drafted tokens, and `longest_by` what limits
    that. With `fixed` a draft of `longest` tokens is made, and only its drafter is chosen. `opening` is True in the
    first tokens of an answer. `after_pause` is True if the models were idle, so that the times of this round say
    nothing about other rounds. A draft may have `tree` tokens beside its chain, and has exactly that many if possible
    where that is `tree_fixed`. `shared_pass` is what other answers added to the last pass. If a draft is `due`, one
    is made whatever it costs.
    """

    depth: int
    longest: int
    prospects: Mapping[DrafterTraits, Prospect]
    longest_by: LimitedBy = "wanted"
    fixed: bool = False
    opening: bool = False
    after_pause: bool = False
    tree: int = 0
    tree_fixed: bool = False
    shared_pass: SharedPass = ALONE
    due: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Who drafts, how many tokens at most, why, and what `limited_by`. Without a drafter the round is plain.

    `stop` ends drafts early. `expected` is the speed of the best draft that was considered, in times that of plain
    decoding; None if none was. A draft that `explores` promises no gain. `branches` makes a tree of the draft. `pace`
    is the rate to beat, in tokens per millisecond.
    """

    drafter: DrafterTraits | None
    k: int
    reason: str
    limited_by: LimitedBy = ""
    stop: EarlyStop | None = None
    expected: float | None = None
    explores: bool = False
    branches: Branching | None = None
    pace: float = 0.0


@dataclass(frozen=True, slots=True)
class RoundOutcome:
    """The result of a round: how many tokens were drafted, compared, accepted and emitted, and the milliseconds.

    Of a tree, `drafted`, `compared` and `accepted` are about its chain, and `branches` are the tokens beside it.
    `runners_up` has the evidence for each runner-up of a compared token, and whether it was right instead.

    `matched` says for each drafter with a match which of the tokens after it were right, as far as the round shows.
    Whoever drafted does not matter. `shared_pass` is what other answers added to the pass.
    """

    drafted: int
    accepted: int
    compared: int
    emitted: int
    verify_ms: float
    draft_ms: float
    other_ms: float
    confidence: Sequence[float] = ()
    branches: int = 0
    runners_up: Sequence[tuple[float, bool]] = ()
    matched: Mapping[DrafterTraits, Sequence[bool]] = field(default_factory=dict)
    shared_pass: SharedPass = ALONE


@dataclass(frozen=True, slots=True)
class Confidences:
    """How a drafter's confidences are read: the probability of acceptance and the frequency of each class."""

    p_accept: tuple[float, ...]
    frequency: tuple[float, ...]
    classify: Callable[[float], int]

    def optimistic(self, mean: float, high: float) -> Confidences:
        """Returns the same with all probabilities raised from their mean to a high one."""
        return replace(self, p_accept=tuple(1 - (1 - p) * (1 - high) / (1 - mean) for p in self.p_accept))

    def stop(self, bounds: Sequence[float]) -> EarlyStop:
        """Returns what ends a draft at these bounds."""
        return EarlyStop(bounds, self.p_accept, self.classify)

    def best(self, round_ms: Sequence[float], pace: float) -> Option:
        """Returns the best draft that ends early, for rounds of these milliseconds."""
        unit = round_ms[0]
        rounded = best_stopping(
            tuple(round(max(p, 0.01), 2) for p in self.p_accept),
            tuple(round(often, 2) for often in self.frequency),
            tuple(round(cost / unit, 2) for cost in round_ms),
            round(pace * unit, 2),
        )
        return replace(rounded, milliseconds=rounded.milliseconds * unit)


@dataclass(frozen=True)
class Possible:
    """What one drafter could do in the next round.

    `accept[j][i]` is the probability that drafted token i is accepted if those before it are: low, mean and high.
    `round_ms[n]` is the milliseconds of a round with n drafted tokens, a part of the time for reading what the drafter
    has missed included; `reading` is the rest of that time in plain rounds. `sampled` is the most tokens that may be
    drafted after so few samples. It `may_explore` if only its drafts show how good it is, and was `tried` if some did.
    """

    drafter: DrafterTraits
    prospect: Prospect
    accept: tuple[Sequence[float], Sequence[float], Sequence[float]]
    round_ms: tuple[float, ...]
    sampled: int
    reading: float = 0.0
    may_explore: bool = False
    tried: bool = False
    confidences: Confidences | None = None

    @property
    def worth_it(self) -> float:
        """How many times the pace its drafts must promise."""
        return 1.0 if self.drafter.cost == "nothing" else _WORTH_IT

    def best(self, most: int, pace: float, *, high: bool = False) -> Option:
        """Returns the fastest draft of at most `most` tokens by the mean or the high acceptance."""
        accept, round_ms = self.accept[2 if high else 1], self.round_ms[: most + 1]
        option = fastest(lambda at: best_length(accept, round_ms, range(min(1, most), most + 1), at), pace)
        if not (self.confidences and most):
            return option
        read = self.confidences.optimistic(self.accept[1][0], accept[0]) if high else self.confidences
        return read.best(round_ms, max(pace, option.rate))

    def most(self, situation: Situation, cap: float) -> tuple[int, LimitedBy]:
        """Returns the most tokens that it may draft, 0 for none, and what limits them."""
        if situation.fixed:
            return situation.longest, "fixed"
        limits: dict[LimitedBy, int] = {
            situation.longest_by: situation.longest,
            "longest": self.drafter.longest,
            "few samples": self.sampled,
            "loss cap": self._affordable(cap),
        }
        by = min(limits, key=lambda limit: limits[limit])
        return limits[by], by

    def _affordable(self, cap: float) -> int:
        """Returns the most tokens that may be drafted with an expected loss within the cap."""
        return max((n for n, loss in enumerate(self._losses) if n and loss <= max(0.0, cap)), default=0)

    @cached_property
    def _losses(self) -> list[float]:
        """The expected losses of drafts of 0, 1, 2, … tokens, in plain rounds."""
        pace = 1 / self.round_ms[0]
        losses = [0.0] * len(self.round_ms)
        for accept in self.accept:
            tokens = expected_tokens_by_length(accept)
            lost = [pace * cost - emitted for cost, emitted in zip(self.round_ms, tokens, strict=True)]
            in_vain = self.reading * (min(lost[1:], default=0.0) >= 0)
            losses = [loss + (max(0.0, more) + in_vain) / 3 for loss, more in zip(losses, lost, strict=True)]
        return losses


def decide(situation: Situation, drafters: Sequence[Possible], cap: float) -> Decision:
    """Returns who drafts in the next round, and how much. Drafts may be expected to lose `cap` plain rounds."""
    if not drafters:
        return Decision(None, 0, "no match")
    plain = Option(0, 1.0, drafters[0].round_ms[0])
    best, chosen = plain, None
    expected, capped, shortened = 0.0, False, False
    for possible in drafters:
        most, by = possible.most(situation, cap)
        if situation.fixed:
            option = wanted = best_length(possible.accept[1], possible.round_ms, range(most, most + 1), plain.rate)
        else:
            wanted = possible.best(len(possible.round_ms) - 1, plain.rate)
            option = wanted if wanted.k <= most else possible.best(most, plain.rate)
        expected = max(expected, wanted.rate / plain.rate)
        if situation.fixed or option.rate > possible.worth_it * plain.rate:
            if chosen is None or option.rate > best.rate:
                best, chosen, shortened = option, possible, wanted.k > most
        elif by == "loss cap" and wanted.rate > possible.worth_it * plain.rate:
            capped = True
    explored = None if situation.fixed else _explored(situation, drafters, best.rate, min(cap, _EXPLORES), chosen)
    if explored:
        return replace(explored, expected=expected)
    if chosen:
        return _drafting(situation, chosen, best, plain, cap, shortened=shortened)
    if situation.due and (due := _least_loss(situation, drafters, plain.rate)):
        return replace(due, expected=expected)
    answers = situation.shared_pass.answers
    beside = f" beside {answers} other answer{'s' * (answers > 1)}" if answers else ""
    if capped:
        return Decision(None, 0, f"a draft could lose too much{beside}", "loss cap", expected=expected)
    return Decision(None, 0, f"no draft pays{beside}", "pace", expected=expected)


def _drafting(
    situation: Situation, possible: Possible, option: Option, plain: Option, cap: float, *, shortened: bool
) -> Decision:
    """Returns the decision to make a drafter's best draft. With confidences it ends when more no longer pays.

    `shortened`: a longer draft than is allowed would be faster, though not necessarily the longest that is allowed.
    """
    most, by = possible.most(situation, cap)
    pace = max(plain.rate, option.rate)
    k, stop = option.k, None
    if read := possible.confidences:
        stop = read.stop((0.0,) * most if situation.fixed else option.bounds)
    match = possible.prospect.match
    reason = f"match of {match}{' after an edit' * possible.prospect.resumed}" if match else "a draft pays"
    return Decision(
        possible.drafter,
        k,
        "k is fixed" if situation.fixed else reason,
        by if k == most or shortened else "pace",
        stop,
        option.rate / plain.rate,
        pace=pace,
    )


def _least_loss(situation: Situation, drafters: Sequence[Possible], pace: float) -> Decision | None:
    """Returns the draft that is expected to lose least, whatever that is."""
    options: list[tuple[float, int, Possible]] = []
    for possible in drafters:
        if most := possible.most(situation, inf)[0]:
            option = best_length(possible.accept[1], possible.round_ms, range(1, most + 1), pace)
            options.append((option.tokens - pace * option.milliseconds, option.k, possible))
    if not options:
        return None
    _, k, possible = max(options, key=lambda option: option[0])
    return Decision(possible.drafter, k, "drafts to be watched, though plain decoding is faster", "pace", explores=True)


def _explored(
    situation: Situation, drafters: Sequence[Possible], pace: float, cap: float, chosen: Possible | None
) -> Decision | None:
    """Returns a draft that would gain only with a high acceptance, if the cap allows one.

    It is the shortest one that would, of the most promising drafter.
    """
    candidates: list[tuple[float, int, Possible]] = []
    for possible in drafters:
        most, _ = possible.most(situation, cap)
        if possible is chosen or not (possible.may_explore and most):
            continue
        tokens = expected_tokens_by_length(possible.accept[2])
        ahead = (k for k in range(1, most + 1) if tokens[k] > possible.worth_it * pace * possible.round_ms[k])
        rate, shortest = possible.best(most, pace, high=True).rate, next(ahead, 0)
        if shortest:
            candidates.append((rate, shortest, possible))
    if not candidates:
        return None
    _, k, possible = max(candidates, key=lambda candidate: candidate[0])
    read = possible.confidences
    stop = read.stop((0.0,) * k) if read else None
    reason = "tried again" if possible.tried else "not tried yet on this kind of text"
    return Decision(possible.drafter, k, reason, "few samples", stop, explores=True)
