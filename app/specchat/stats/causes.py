"""Why an answer was slower than it could have been: causes in its drafts, and causes around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from specchat.stats.advice import Advice, Answered, Cause
from specchat.stats.line import time_percents
from specchat.stats.what_if import Point, WhatIf, predicted
from specchat.terminal.blocks import per_cent
from specchat_engine.analysis.theory import expected_tokens
from specchat_engine.decoding.costs import Basis
from specchat_engine.decoding.rounds import Outcome, by_model
from specchat_engine.settings import AUTO, HEADS

_TESTED, _ROUNDS = 40, 12
"""The fewest compared tokens and rounds for advice about drafts: α is then known to about 0.08."""

_AUTO_MISSES = 0.15
"""How much faster a fixed k must be than auto before it is advised: auto also spends time on learning."""

_LOST, _LOST_SHARE, _WARM = 8, 0.35, 0.3
"""Temperature is blamed above 0.3, if it rejected the target's most likely token 8 times and in 35 % of cases."""

_DRAFT_SHARE, _SMALLER = 0.3, 3
"""A draft model that takes 30 % of the time is called large, and compared with one of a third of its cost."""

_RUN = 6
"""The number of consecutive words that count as copied."""

_COPIED, _LONG_ENOUGH = 0.25, 40
"""Lookup is advised if a quarter of an answer of 40 words or more is copied from the prompt."""

_COPY_ALPHA, _COPY_K = 0.9, 8
"""What lookup is assumed to reach on copies. The controller starts from the same value for long matches."""

_FIRST, _COLD_SHARE = 8, 0.1
"""A cold start is reported if the first 8 rounds took longer than 8 usual ones by 10 % of the answer's time."""

_OTHER_SHARE, _OTHER_USUAL = 0.25, 0.08
"""Time outside the passes is reported from 25 % on. 8 % is what sampling usually takes."""

_UNEVEN = 1.5
"""Rounds are uneven if one in ten takes this many times the median: passes then wait for processors."""


def causes(turn: Answered) -> dict[Cause, Advice]:
    """All advice for a turn, however small its gain; none for one that other programs disturbed."""
    if not turn.rounds or turn.view.disturbed:
        return {}
    all_advice = (*_drafts(turn), *_copies(turn), *_cold(turn), *_other(turn), *_threads(turn))
    return {advice.cause: advice for advice in all_advice}


def _drafts(turn: Answered) -> Iterator[Advice]:
    prediction = turn.prediction
    if prediction is None or prediction.chain.num_tested < _TESTED or turn.view.figures.num_drafts < _ROUNDS:
        return
    yield from _length(turn, prediction)
    if by_model(prediction.chain.source):
        yield from _temperature(turn, prediction)
        if prediction.chain.source not in HEADS:
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
    same = "The text stays the same: k changes only the speed."
    other = "With this verifier another k may give another text."
    why = (*_comparison(prediction, best), same if turn.settings.verifier == "coupled" else other)
    if best.k == 0 and ran != AUTO:
        gauge = turn.view.break_even
        needed = "" if gauge is None or gauge.needed is None else f", needs {gauge.needed:.2f}"
        yield Advice(
            Cause.LOW_ALPHA,
            f"drafting cost {per_cent(gain / (1 + gain))} on this text (α {turn.view.figures.alpha or 0:.2f}{needed}): "
            "k auto stops when it does not pay off",
            gain,
            (*why, *([f"Break-even: {gauge.sentence()}."] if gauge else [])),
            lambda settings: replace(settings, k=AUTO),
        )
        return
    choice = "plain decoding" if best.k == 0 else f"k {best.k}"
    sentence = f"{choice} would have been {per_cent(gain)} faster{' than auto' if ran == AUTO else ''} here"
    yield Advice(Cause.LENGTH, sentence, gain, why, lambda settings: replace(settings, k=best.k))


def _temperature(turn: Answered, prediction: WhatIf) -> Iterator[Advice]:
    """The draft had the target's most likely token, but sampling chose another: a lower temperature does that less."""
    temperature = turn.settings.sampling.temperature
    rejected = [
        event.top[0].id == token.id
        for event in turn.rounds
        if by_model(event.source) and event.top
        for token in event.drafted
        if token.outcome is Outcome.REJECTED
    ]
    lost, tested = sum(rejected), prediction.chain.num_tested
    if temperature <= _WARM or lost < _LOST or lost < _LOST_SHARE * len(rejected):
        return
    alpha, length = prediction.chain.alpha, max(1, round(turn.view.figures.mean_draft))
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
    shares, chain, curve = turn.view.figures.shares, prediction.chain, prediction.curve
    if shares["draft"] < _DRAFT_SHARE:
        return
    share = time_percents(shares)["draft"]
    step_ms, plain_ms = prediction.step_ms, curve.at(1)
    c = step_ms / plain_ms
    cheaper = predicted(chain, curve, step_ms / _SMALLER, prediction.between_ms, len(chain.tested_at))
    best = max(point.tokens_per_second for point in cheaper)
    now = max(best_to_advise(prediction).tokens_per_second, prediction.now)
    yield Advice(
        Cause.LARGE_DRAFT,
        f"the draft model takes {share} % of the time (c {c:.2f}): one at a third of its cost with the same "
        f"acceptance would gain {per_cent(best / now - 1)}",
        best / now - 1,
        (
            f"A draft step takes {step_ms:.2f} ms, a plain pass of the target {plain_ms:.2f} ms: c = {c:.2f}.",
            f"Drafting took {share} % of the time of decoding.",
            f"With c = {c / _SMALLER:.2f} and the same acceptance (α {chain.alpha:.2f}) the best k would give "
            f"{best:.0f} tok/s; with this draft it gives {now:.0f}.",
            "A smaller draft is usually accepted less often. `specchat bench` shows which one is faster.",
        ),
        command="/draft",
    )


def _comparison(prediction: WhatIf, best: Point) -> Iterator[str]:
    """The acceptance, and the formula with the numbers of the present and of the advised k."""
    chain = prediction.chain
    shares = " ".join(f"{share:.2f}" for share in chain.shares(min(len(chain.tested_at), 8)))
    yield f"{chain.num_tested} drafted tokens were compared: α {chain.alpha:.2f}, by position {shares}."
    yield "Tokens/s at k = (1 + Σ a₁⋯aᵢ) / (C(k+1) + k · draft step + rest), with aᵢ by position."
    if prediction.ran != AUTO and prediction.ran < len(prediction.points):
        yield _prediction_line(prediction, prediction.points[prediction.ran])
    else:
        yield f"k {prediction.ran}: {prediction.now:.0f} tok/s, from its own rounds at these costs."
    yield _prediction_line(prediction, best)


def _prediction_line(prediction: WhatIf, point: Point) -> str:
    width, step_ms = point.k + 1, prediction.step_ms
    pass_ms, basis = prediction.curve.at(width), prediction.curve.basis(width).name.lower()
    time = f"({pass_ms:.2f} + {point.k} · {step_ms:.2f} + {prediction.between_ms:.2f}) ms"
    if prediction.chain.reach:
        time = f"{point.round_ms:.2f} ms, for drafts as long as the matches were,"
    beyond = "" if prediction.chain.measured(point.k) else "; rarely tried positions count with α"
    speed = f"{point.tokens_per_second:.0f} tok/s"
    return f"k = {point.k}: {point.tokens:.2f} / {time} = {speed} (C({width}) {basis}{beyond})."


def copied_share(answer: str, prompt: str) -> float:
    """The share of the answer's words within six consecutive words that also occur in the prompt."""
    words, given = answer.split(), prompt.split()
    runs = {tuple(given[start : start + _RUN]) for start in range(len(given) - _RUN + 1)}
    copied = [False] * len(words)
    for start in range(len(words) - _RUN + 1):
        if tuple(words[start : start + _RUN]) in runs:
            copied[start : start + _RUN] = [True] * _RUN
    return sum(copied) / len(words) if words else 0.0


def _copies(turn: Answered) -> Iterator[Advice]:
    settings, figures, curve = turn.settings, turn.view.figures, turn.fitted_costs.curve
    looks_up = settings.k != 0 and settings.drafter in ("lookup", "hybrid")
    if looks_up or "lookup" not in turn.drafters or curve is None or not figures.num_tokens:
        return
    answer = "".join(event.text for event in turn.rounds)
    share = copied_share(answer, turn.prompt)
    if share < _COPIED or len(answer.split()) < _LONG_ENOUGH:
        return
    token_ms = figures.decode_ms / figures.num_tokens
    between_ms = (figures.other_ms + figures.rollback_ms) / figures.num_rounds
    copy_ms = (curve.at(_COPY_K + 1) + between_ms) / expected_tokens(_COPY_ALPHA, _COPY_K)
    gain = token_ms / (share * min(copy_ms, token_ms) + (1 - share) * token_ms) - 1
    yield Advice(
        Cause.COPIES,
        f"{per_cent(share)} of this answer is copied from the prompt: with lookup it would have been about "
        f"{per_cent(gain)} faster",
        gain,
        (
            f"{per_cent(share)} of the answer's words are in runs of {_RUN} words that also occur in the prompt.",
            f"A token took {token_ms:.2f} ms.",
            f"Lookup drafts at no cost, and about {per_cent(_COPY_ALPHA)} of copied tokens are accepted:",
            f"E({_COPY_ALPHA}, {_COPY_K}) = {expected_tokens(_COPY_ALPHA, _COPY_K):.1f} tokens in "
            f"C({_COPY_K + 1}) + rest = {curve.at(_COPY_K + 1) + between_ms:.2f} ms: {copy_ms:.2f} ms a token.",
            "With the coupled verifier the text stays the same: the drafter changes only the speed.",
        ),
        lambda chosen: replace(chosen, drafter="hybrid", k=AUTO if chosen.k == 0 else chosen.k),
    )


def _cold(turn: Answered) -> Iterator[Advice]:
    """The first answer of a pair pays for work that later ones do not repeat."""
    times = [event.ms.total / max(event.num_emitted, 1) for event in turn.rounds]
    if turn.earlier_turns or len(times) < 3 * _FIRST:
        return
    usual = median(times[_FIRST:])
    extra = sum(
        max(0.0, time - usual) * event.num_emitted
        for time, event in zip(times[:_FIRST], turn.rounds[:_FIRST], strict=True)
    )
    total = turn.view.figures.decode_ms
    if extra < _COLD_SHARE * total:
        return
    yield Advice(
        Cause.COLD,
        f"this was the first answer of this pair: {per_cent(extra / total)} of its time went into first passes and "
        "measuring; the next answer will be faster",
        extra / (total - extra),
        (
            f"A token usually took {usual:.2f} ms, in the first {_FIRST} rounds up to {max(times[:_FIRST]):.2f} ms.",
            f"These rounds took {extra:.0f} ms more than usual, of {total:.0f} ms in all.",
            "The first passes read the weights into memory, and k auto measures the cost of passes before it drafts.",
            "The measurements are kept for later answers and later starts.",
        ),
    )


def _other(turn: Answered) -> Iterator[Advice]:
    figures, sampling = turn.view.figures, turn.settings.sampling
    share = figures.shares.get("other", 0.0)
    if share < _OTHER_SHARE or figures.num_rounds < 2 * _FIRST:
        return
    gain = (share - _OTHER_USUAL) / (1 - share + _OTHER_USUAL)
    between_ms = figures.other_ms / figures.num_rounds
    sentence = f"{time_percents(figures.shares)['other']} % of the time went into neither drafting nor verifying"
    why = [
        f"{figures.other_ms:.0f} of {figures.decode_ms:.0f} ms of decoding were spent outside the models' passes, "
        f"{between_ms:.2f} ms a round. About {per_cent(_OTHER_USUAL)} are usual.",
        "That is sampling, checking a grammar, deciding on k, and waiting for a processor that is in use.",
        f"With the usual share, decoding would be {per_cent(gain)} faster.",
    ]
    if sampling.grammar:
        why.append("A grammar checks tokens in every round; a simpler one is faster.")
        yield Advice(Cause.OTHER, f"{sentence}: the grammar is checked in every round", gain, tuple(why))
    elif sampling.top_k == 0 or sampling.top_k > 1000:
        many = "all tokens" if sampling.top_k == 0 else f"{sampling.top_k} tokens"
        why.append("Fewer candidates change the text a little: those removed had almost no probability.")
        yield Advice(
            Cause.OTHER,
            f"{sentence}: top-k keeps {many} at every position; 40 is usual",
            gain,
            tuple(why),
            lambda settings: replace(settings, sampling=replace(settings.sampling, top_k=40)),
        )
    elif turn.cores > 1 and turn.threads >= turn.cores:
        why.append(f"All {turn.cores} cores compute. One that is left free can draw the screen and do the rest.")
        yield Advice(
            Cause.OTHER,
            f"{sentence}, and all {turn.cores} cores compute: leave one free",
            gain,
            tuple(why),
            command=f"/set threads {turn.cores - 1}",
        )


def _threads(turn: Answered) -> Iterator[Advice]:
    """More threads than cores, and uneven rounds. The gain is the time of slow rounds beyond the median."""
    figures = turn.view.figures
    middle, slow = figures.round_ms.quantile(0.5), figures.round_ms.quantile(0.9)
    if not (middle and slow) or turn.threads <= turn.cores or not turn.cores or figures.num_rounds < 2 * _FIRST:
        return
    if slow < _UNEVEN * middle:
        return
    usual = sum(min(event.ms.total, middle) for event in turn.rounds)
    yield Advice(
        Cause.THREADS,
        f"{turn.threads} threads on {turn.cores} cores wait for each other: one round in ten took "
        f"{slow / middle:.1f} × the median",
        figures.decode_ms / usual - 1,
        (
            f"The median round took {middle:.2f} ms, one in ten {slow:.2f} ms or more.",
            f"{turn.threads} threads share {turn.cores} cores and work in step, so all of them wait for the slowest.",
            f"Without rounds longer than the median, decoding is {per_cent(figures.decode_ms / usual - 1)} faster.",
            "Another number of threads takes effect with the next round.",
        ),
        command=f"/set threads {turn.cores}",
    )
