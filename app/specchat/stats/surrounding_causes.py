"""Causes outside the drafts: copied text without lookup, a cold start, time outside the passes, and threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from specchat.stats.advice import Advice, Answered, Cause
from specchat.stats.curve import curve_of
from specchat.terminal.blocks import per_cent
from specchat_engine.analysis.theory import expected_tokens
from specchat_engine.settings import AUTO

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


def surrounding_advice(turn: Answered) -> Iterator[Advice]:
    """What could be gained without other drafts, in no order."""
    yield from _copies(turn)
    yield from _cold(turn)
    yield from _other(turn)
    yield from _threads(turn)


def copied_share(answer: str, prompt: str) -> float:
    """The share of the answer's words within six consecutive words that also occur in the prompt."""
    said, given = answer.split(), prompt.split()
    runs = {tuple(given[start : start + _RUN]) for start in range(len(given) - _RUN + 1)}
    copied = [False] * len(said)
    for start in range(len(said) - _RUN + 1):
        if tuple(said[start : start + _RUN]) in runs:
            copied[start : start + _RUN] = [True] * _RUN
    return sum(copied) / len(said) if said else 0.0


def _copies(turn: Answered) -> Iterator[Advice]:
    settings, figures, curve = turn.settings, turn.figures, curve_of(turn.fitted_costs)
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
    total = turn.figures.decode_ms
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
    figures, sampling = turn.figures, turn.settings.sampling
    share = figures.shares.get("other", 0.0)
    if share < _OTHER_SHARE or figures.num_rounds < 2 * _FIRST:
        return
    gain = (share - _OTHER_USUAL) / (1 - share + _OTHER_USUAL)
    between_ms = figures.other_ms / figures.num_rounds
    told = f"{per_cent(share)} of the time went into neither drafting nor verifying"
    why = [
        f"{figures.other_ms:.0f} of {figures.decode_ms:.0f} ms of decoding were spent outside the models' passes, "
        f"{between_ms:.2f} ms a round. About {per_cent(_OTHER_USUAL)} are usual.",
        "That is sampling, checking a grammar, deciding on k, and waiting for a processor that is in use.",
        f"With the usual share, decoding would be {per_cent(gain)} faster.",
    ]
    if sampling.grammar:
        why.append("A grammar checks tokens in every round; a simpler one is faster.")
        yield Advice(Cause.OTHER, f"{told}: the grammar is checked in every round", gain, tuple(why))
    elif sampling.top_k == 0 or sampling.top_k > 1000:
        many = "all tokens" if sampling.top_k == 0 else f"{sampling.top_k} tokens"
        why.append("Fewer candidates change the text a little: those removed had almost no probability.")
        yield Advice(
            Cause.OTHER,
            f"{told}: top-k keeps {many} at every position; 40 is usual",
            gain,
            tuple(why),
            lambda settings: replace(settings, sampling=replace(settings.sampling, top_k=40)),
        )
    elif turn.cores > 1 and turn.threads >= turn.cores:
        why.append(f"All {turn.cores} cores compute. One that is left free can draw the screen and do the rest.")
        yield Advice(
            Cause.OTHER,
            f"{told}, and all {turn.cores} cores compute: leave one free",
            gain,
            tuple(why),
            command=f"/set threads {turn.cores - 1}",
        )


def _threads(turn: Answered) -> Iterator[Advice]:
    """More threads than cores, and uneven rounds. The gain is the time of slow rounds beyond the median."""
    figures = turn.figures
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
            "Another number of threads takes effect with the next round; auto measures the best one.",
        ),
        command=f"/set threads {turn.cores}",
    )
