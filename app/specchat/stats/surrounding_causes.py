"""Causes that lie around the drafts: copies that nobody looks up, a cold start, time beside the passes, threads."""

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
"""Words in a row that make a copy."""

_COPIED, _LONG_ENOUGH = 0.25, 40
"""Lookup is advised where a quarter of an answer of 40 words or more stands in the prompt."""

_COPY_ALPHA, _COPY_K = 0.9, 8
"""What lookup does on copies; the controller starts from the same for long matches."""

_FIRST, _COLD_SHARE = 8, 0.1
"""A cold start is told where the first 8 rounds took 10 % of the time more than 8 usual ones."""

_OTHER_SHARE, _OTHER_USUAL = 0.25, 0.08
"""Time beside the passes is told from 25 % on; 8 % of it is what sampling and drawing usually take."""

_UNEVEN = 1.5
"""Rounds are uneven where of ten one takes that much longer than the median: passes wait for processors."""


def surrounding_advice(turn: Answered) -> Iterator[Advice]:
    """What can be gained without other drafts, in no order."""
    yield from _copies(turn)
    yield from _cold(turn)
    yield from _other(turn)
    yield from _threads(turn)


def copied_share(answer: str, prompt: str) -> float:
    """The share of the answer's words that stand in a run of six that the prompt has as well."""
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
        f"{per_cent(share)} of this answer stands in the prompt: with lookup it would have come about "
        f"{per_cent(gain)} faster",
        gain,
        (
            f"{per_cent(share)} of the answer's words stand in runs of {_RUN} words that are in the prompt as well.",
            f"A token took {token_ms:.2f} ms.",
            f"Lookup drafts for nothing, and of copied tokens about {per_cent(_COPY_ALPHA)} stand:",
            f"E({_COPY_ALPHA}, {_COPY_K}) = {expected_tokens(_COPY_ALPHA, _COPY_K):.1f} tokens in "
            f"C({_COPY_K + 1}) + rest = {curve.at(_COPY_K + 1) + between_ms:.2f} ms: {copy_ms:.2f} ms a token.",
            "The text stays the same under the coupled rule: who drafts changes only how fast it comes.",
        ),
        lambda chosen: replace(chosen, drafter="hybrid", k=AUTO if chosen.k == 0 else chosen.k),
    )


def _cold(turn: Answered) -> Iterator[Advice]:
    """The first answer of a pair pays for what later ones find done."""
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
        f"the first answer of this pair: {per_cent(extra / total)} of its time went into first passes and measuring; "
        "the next will be faster by itself",
        extra / (total - extra),
        (
            f"A token took {usual:.2f} ms as a rule, in the first {_FIRST} rounds up to {max(times[:_FIRST]):.2f} ms.",
            f"Beyond the usual these rounds took {extra:.0f} of {total:.0f} ms.",
            "First passes read the weights into memory, and k auto measures what passes cost before it drafts.",
            "What was measured is kept, also for the next start.",
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
        f"Of {figures.decode_ms:.0f} ms of decoding {figures.other_ms:.0f} ms were spent beside the models' passes, "
        f"{between_ms:.2f} ms a round; usual are about {per_cent(_OTHER_USUAL)}.",
        "That is sampling, asking a grammar, deciding on k, and waiting for a processor that something else holds.",
        f"Without what is unusual: {per_cent(gain)} faster.",
    ]
    if sampling.grammar:
        why.append("A grammar is asked about tokens in every round; a simpler one is quicker.")
        yield Advice(Cause.OTHER, f"{told}: the grammar is asked in every round", gain, tuple(why))
    elif sampling.top_k == 0 or sampling.top_k > 1000:
        many = "all tokens" if sampling.top_k == 0 else f"{sampling.top_k} tokens"
        why.append("Fewer candidates change the text a little: what is cut off had next to no probability.")
        yield Advice(
            Cause.OTHER,
            f"{told}: top-k keeps {many} at every position; 40 is usual",
            gain,
            tuple(why),
            lambda settings: replace(settings, sampling=replace(settings.sampling, top_k=40)),
        )
    elif turn.cores > 1 and turn.threads >= turn.cores:
        why.append(f"All {turn.cores} cores compute: one left free draws the screen and does the rest.")
        yield Advice(
            Cause.OTHER,
            f"{told}, with all {turn.cores} cores computing: leave one free",
            gain,
            tuple(why),
            command=f"/set threads {turn.cores - 1}",
        )


def _threads(turn: Answered) -> Iterator[Advice]:
    """More threads than cores, and rounds that show it. The gain is what the slow rounds took beyond the median."""
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
            f"The threads work in step, and {turn.threads} of them share {turn.cores} cores: the last is waited for.",
            f"If all rounds took the median at most: {per_cent(figures.decode_ms / usual - 1)} faster.",
            "Another number of threads holds from the next round on; auto measures which is best.",
        ),
        command=f"/set threads {turn.cores}",
    )
