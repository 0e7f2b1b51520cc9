"""Causes in the drafts: their length, their acceptance, their cost, and the temperature."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from specchat.stats.advice import Advice, Answered, Cause
from specchat.stats.curve import Basis, BreakEven, gauge
from specchat.stats.what_if import Point, WhatIf, predicted
from specchat.terminal.blocks import per_cent
from specchat_engine.analysis.theory import expected_tokens
from specchat_engine.decoding.rounds import BY_MODEL, Outcome
from specchat_engine.settings import AUTO, DraftLength, Settings

_TESTED, _ROUNDS = 40, 12
"""The fewest compared tokens and rounds for advice about drafts: α is then known to about 0.08."""

_AUTO_MISSES = 0.15
"""How much faster a fixed k must be than auto before it is advised: auto also spends time on learning."""

_LOST, _LOST_SHARE, _WARM = 8, 0.35, 0.3
"""Temperature is blamed above 0.3, if it rejected the target's most likely token 8 times and in 35 % of cases."""

_DRAFT_SHARE, _SMALLER = 0.3, 3
"""A draft model that takes 30 % of the time is called large, and compared with one of a third of its cost."""


def drafting_advice(turn: Answered) -> Iterator[Advice]:
    """What other drafts could gain, in no order."""
    prediction = turn.prediction
    if prediction is None or prediction.chain.num_tested < _TESTED or turn.figures.num_drafts < _ROUNDS:
        return
    yield from _length(turn, prediction)
    if prediction.chain.source in BY_MODEL:
        yield from _temperature(turn, prediction)
        yield from _large_draft(turn, prediction)


def best_to_advise(prediction: WhatIf) -> Point:
    """The fastest k of those that are known well enough: the width of its pass lies within the measured ones, and its
    drafts are at most twice as long as those that were tried."""
    tried = len(prediction.chain.tested_at)
    known = [
        point
        for point in prediction.points
        if prediction.curve.basis(point.k + 1) is not Basis.EXTRAPOLATED and point.k <= 2 * tried
    ]
    return max(known or prediction.points[:1], key=lambda point: (point.tokens_per_second, -point.k))


def _length(turn: Answered, prediction: WhatIf) -> Iterator[Advice]:
    best = best_to_advise(prediction)
    gain = best.tokens_per_second / prediction.now - 1
    ran = turn.settings.k
    if gain <= 0 or best.k == ran or (ran == AUTO and gain < _AUTO_MISSES):
        return
    why = (*_shares_line(prediction), *_comparison(prediction, best), _same_text(turn.settings))
    if best.k == 0 and ran != AUTO:
        length = max(1, ran)
        found = gauge(prediction.chain.alpha, length, prediction.curve, prediction.step_ms, prediction.between_ms)
        yield Advice(
            Cause.LOW_ALPHA,
            f"drafting cost {per_cent(gain / (1 + gain))} on this text ({_needs(found)}): "
            "k auto stops when it does not pay off",
            gain,
            (*why, f"Break-even: {found.sentence()}."),
            _with_k(AUTO),
        )
        return
    told = "plain decoding" if best.k == 0 else f"k {best.k}"
    instead = " than auto" if ran == AUTO else ""
    yield Advice(
        Cause.LENGTH, f"{told} would have been {per_cent(gain)} faster{instead} here", gain, why, _with_k(best.k)
    )


def _temperature(turn: Answered, prediction: WhatIf) -> Iterator[Advice]:
    """The draft had the target's most likely token, but sampling chose another: a lower temperature does that less."""
    temperature = turn.settings.sampling.temperature
    rejected = [
        event.top[0].id == token.id
        for event in turn.rounds
        if event.source in BY_MODEL and event.top
        for token in event.drafted
        if token.outcome is Outcome.REJECTED
    ]
    lost, tested = sum(rejected), prediction.chain.num_tested
    if temperature <= _WARM or lost < _LOST or lost < _LOST_SHARE * len(rejected):
        return
    alpha, length = prediction.chain.alpha, max(1, round(turn.figures.mean_draft))
    cooler = round(temperature / 2, 2)
    hoped = alpha + lost / tested / 2
    gain = expected_tokens(hoped, length) / expected_tokens(alpha, length) - 1
    yield Advice(
        Cause.TEMPERATURE,
        f"temperature {temperature:g} costs acceptance: {lost} of {len(rejected)} rejected tokens were the target's "
        f"most likely ones; {cooler:g} may gain {per_cent(gain)} (the text changes)",
        gain,
        (
            f"{tested} drafted tokens were compared, {len(rejected)} of them rejected (α {alpha:.2f}).",
            f"In {lost} of these cases the draft had the target's most likely token, but sampling at temperature "
            f"{temperature:g} chose another.",
            f"At temperature 0 they would be accepted: α up to {alpha + lost / tested:.2f}. The estimate assumes half.",
            f"E(α, k) = (1 − α^(k+1)) / (1 − α): {expected_tokens(alpha, length):.2f} tokens a round at α {alpha:.2f}, "
            f"{expected_tokens(hoped, length):.2f} at {hoped:.2f}, k = {length}.",
            "Another temperature gives another text: less varied, closer to what the model finds most likely.",
        ),
        lambda settings: replace(settings, sampling=replace(settings.sampling, temperature=cooler)),
    )


def _large_draft(turn: Answered, prediction: WhatIf) -> Iterator[Advice]:
    share, chain, curve = turn.figures.shares["draft"], prediction.chain, prediction.curve
    if share < _DRAFT_SHARE:
        return
    step_ms, plain_ms = prediction.step_ms, curve.at(1)
    c = step_ms / plain_ms
    cheaper = predicted(chain, curve, step_ms / _SMALLER, prediction.between_ms, len(chain.tested_at))
    best = max(point.tokens_per_second for point in cheaper)
    now = max(best_to_advise(prediction).tokens_per_second, prediction.now)
    yield Advice(
        Cause.LARGE_DRAFT,
        f"the draft model takes {per_cent(share)} of the time (c {c:.2f}): one at a third of its cost with the same "
        f"acceptance would gain {per_cent(best / now - 1)}",
        best / now - 1,
        (
            f"A draft step takes {step_ms:.2f} ms, a plain pass of the target {plain_ms:.2f} ms: c = {c:.2f}.",
            f"Drafting took {per_cent(share)} of the time of decoding.",
            f"With c = {c / _SMALLER:.2f} and the same acceptance (α {chain.alpha:.2f}) the best k would give "
            f"{best:.0f} tok/s; with this draft it gives {now:.0f}.",
            "A smaller draft is usually accepted less often. `specchat bench` shows which one is faster.",
        ),
        command="/draft",
    )


def _needs(found: BreakEven) -> str:
    return f"α {found.has:.2f}, needs {found.needed:.2f}" if found.needed is not None else f"α {found.has:.2f}"


def _with_k(k: DraftLength) -> Callable[[Settings], Settings]:
    return lambda settings: replace(settings, k=k)


def _shares_line(prediction: WhatIf) -> Iterator[str]:
    chain = prediction.chain
    shares = " ".join(f"{share:.2f}" for share in chain.shares(min(len(chain.tested_at), 8)))
    yield f"{chain.num_tested} drafted tokens were compared: α {chain.alpha:.2f}, by position {shares}."


def _comparison(prediction: WhatIf, best: Point) -> Iterator[str]:
    """The formula with the numbers of the present and of the advised k."""
    yield "Tokens/s at k = (1 + Σ a₁⋯aᵢ) / (C(k+1) + k · draft step + rest), with aᵢ by position."
    if prediction.ran != AUTO and prediction.ran < len(prediction.points):
        yield _told(prediction, prediction.points[prediction.ran])
    else:
        yield f"k {prediction.ran}: {prediction.now:.0f} tok/s, from its own rounds at these costs."
    yield _told(prediction, best)


def _told(prediction: WhatIf, point: Point) -> str:
    width, step_ms = point.k + 1, prediction.step_ms
    pass_ms, basis = prediction.curve.at(width), prediction.curve.basis(width).name.lower()
    time = f"({pass_ms:.2f} + {point.k} · {step_ms:.2f} + {prediction.between_ms:.2f}) ms"
    if prediction.chain.reach:
        time = f"{point.round_ms:.2f} ms, for drafts as long as the matches were,"
    beyond = "" if prediction.chain.measured(point.k) else "; rarely tried positions count with α"
    speed = f"{point.tokens_per_second:.0f} tok/s"
    return f"k = {point.k}: {point.tokens:.2f} / {time} = {speed} (C({width}) {basis}{beyond})."


def _same_text(settings: Settings) -> str:
    if settings.verifier == "coupled":
        return "The text stays the same: k changes only the speed."
    return "With this verifier another k may give another text."
