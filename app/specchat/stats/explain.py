"""What each figure of the dashboard means, in a sentence or two with the turn's own numbers (`/why`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from specchat.stats.line import shown_shares
from specchat.stats.summary import Figures
from specchat.stats.turn import TurnView
from specchat.terminal.blocks import per_cent, percents
from specchat.terminal.filter import clean_line

_ABOUT = 0.03
"""A speed-up that is closer to 1 than this counts as none."""

_FEW, _LITTLE, _MUCH = 0.2, 0.2, 0.3
"""Few rounds draft; drafting takes little of the time, and much of it."""


class Figure(StrEnum):
    """The figures that the dashboard shows, from top to bottom, by the words that it shows beside them."""

    SPEED = "tok/s"
    SPEEDUP = "× plain"
    ACCEPTED = "accepted"
    ALPHA = "α"
    TAU = "τ"
    ALPHA_AND_RATE = "α and acceptance"
    BY_POSITION = "by place"
    BREAK_EVEN = "α needed"
    TIME = "time"
    SOURCES = "drafts"
    K = "k"
    MEMORY = "memory"
    SO_FAR = "so far"
    ROUNDS = "rounds"
    VERIFIER = "verifier"


def in_short(view: TurnView) -> str:
    """Why the answer was as fast as it was, in a sentence or two."""
    figures, speedup = view.figures, view.summary.speedup
    if not figures.num_rounds:
        return "Nothing was decoded yet."
    if not figures.shares:
        return _by_a_server(figures)
    busy = " Other programs were using the CPU, which slowed down everything." if view.disturbed else ""
    if not figures.num_drafts:
        return f"As fast as plain: nothing was drafted.{busy}"
    if speedup is None:
        return _not_compared(view)
    rate, share = per_cent(figures.acceptance_rate or 0.0), figures.shares["draft"]
    if speedup >= 1 + _ABOUT:
        return f"{speedup:.2f} times as fast as plain: {rate} of the drafted tokens were accepted.{busy}"
    if speedup > 1 - _ABOUT:
        few = figures.num_drafts < _FEW * figures.num_rounds
        why = "few drafts promised to pay off" if few else "drafting gained about as much as it cost"
    elif view.break_even and view.break_even.needed is None:
        why = "drafts cost more here than they could gain, even if every drafted token were accepted"
    elif share >= _MUCH:
        why = f"drafting took {per_cent(share)} of the time, and {rate} of the drafted tokens were accepted"
    else:
        why = f"only {rate} of the drafted tokens were accepted"
    how = "As fast as" if speedup > 1 - _ABOUT else f"{per_cent(1 - speedup)} slower than"
    return f"{how} plain: {why}.{busy}"


def _by_a_server(figures: Figures) -> str:
    if figures.acceptance_rate is None:
        return "A server gave this answer. It told nothing of drafts."
    return (
        f"A server gave this answer. {per_cent(figures.acceptance_rate)} of the tokens that it drafted were accepted. "
        "It does not tell what a plain pass takes."
    )


def _not_compared(view: TurnView) -> str:
    share = view.figures.shares.get("draft", 0.0)
    if not view.disturbed:
        return (
            "Not compared with plain: no plain passes were timed while the machine was as busy. "
            f"{per_cent(view.figures.acceptance_rate or 0.0)} of the drafted tokens were accepted."
        )
    innocent = " and isn't the cause" if share < _LITTLE else ""
    return (
        "Slowed down: another program was using the CPU. "
        f"Drafting took {per_cent(share)} of the time{innocent}. The machine was too busy to compare with plain."
    )


def explain(figure: Figure, view: TurnView) -> str:
    """The explanation of one figure. Before anything was measured, it says what the figure will show."""
    return _SENTENCES[figure](view)


def explanations(view: TurnView) -> dict[Figure, str]:
    """All explanations, in the order of the dashboard."""
    return {figure: explain(figure, view) for figure in Figure}


def _speed(view: TurnView) -> str:
    figures = view.figures
    if figures.tokens_per_second is None:
        return "Tokens per second while decoding. The time to read the prompt does not count."
    return (
        f"{figures.num_tokens} tokens in {figures.decode_ms:.0f} ms of decoding: {figures.tokens_per_second:.1f} per "
        "second. The time to read the prompt does not count."
    )


def _speedup(view: TurnView) -> str:
    summary = view.summary
    if summary.speedup is None:
        return (
            "How much faster this is than plain decoding. It is not known (×?) unless plain passes were timed while "
            "the machine was as busy as during the answer."
        )
    return (
        f"This answer took {summary.against_ms:.0f} ms of decoding. At the measured speed of plain passes, plain "
        f"decoding would have taken {summary.plain_ms:.0f} ms: {summary.speedup:.2f} × plain."
    )


def _accepted(view: TurnView) -> str:
    figures = view.figures
    if figures.acceptance_rate is None:
        return "The share of drafted tokens that became part of the answer."
    return (
        f"{figures.num_accepted_tokens} of {figures.num_draft_tokens} drafted tokens became part of the answer: "
        f"{per_cent(figures.acceptance_rate)}."
    )


def _alpha(view: TurnView) -> str:
    figures = view.figures
    if figures.alpha is None:
        return "α is the share of compared tokens that were accepted. Discarded tokens are never compared."
    return (
        f"{figures.num_accepted_tokens} of the {figures.num_tested_tokens} drafted tokens that were compared with the "
        f"target's own were equal to it: α {figures.alpha:.2f}."
    )


def _tau(view: TurnView) -> str:
    figures = view.figures
    if figures.block_efficiency is None:
        return "τ is the number of tokens per target pass: 1 without drafts, at most k + 1."
    return (
        f"{figures.num_rounds} target passes gave {figures.num_tokens} tokens: τ {figures.block_efficiency:.2f}. "
        "Plain decoding has τ 1."
    )


def _alpha_and_rate(view: TurnView) -> str:
    figures = view.figures
    if figures.alpha is None or figures.acceptance_rate is None:
        return "The acceptance rate counts every drafted token, α only those that were compared."
    discarded, accepted = figures.num_draft_tokens - figures.num_tested_tokens, figures.num_accepted_tokens
    where = "after a rejected one or on another branch" if figures.num_siblings else "after a rejected one"
    return (
        f"{discarded} tokens {where} were discarded. They count as drafted "
        f"({accepted}/{figures.num_draft_tokens} = {per_cent(figures.acceptance_rate)} accepted) but not as compared "
        f"({accepted}/{figures.num_tested_tokens} = α {figures.alpha:.2f})."
    )


def _by_position(view: TurnView) -> str:
    figures = view.figures
    if not figures.drafted_at:
        return "How often the token at each position of a draft was accepted."
    last = len(figures.drafted_at)
    first_share, last_share = figures.accepted_by_place[0], figures.accepted_by_place[-1]
    return (
        f"The first token of a draft was accepted in {per_cent(first_share)} of {figures.drafted_at[0]} drafts, "
        f"the one at position {last} in {per_cent(last_share)} of {figures.drafted_at[-1]}. A token is accepted only "
        "if all tokens before it are."
    )


def _time(view: TurnView) -> str:
    shares = view.figures.shares
    if not shares:
        return "Where the time went: drafting, the target's passes, removing rejected tokens, and the rest."
    shares = shown_shares(shares)
    whole = dict(zip(shares, percents(shares.values()), strict=True))
    back = f"removing rejected tokens {whole['rollback']} %, " if "rollback" in whole else ""
    return (
        f"Drafting took {whole['draft']} % of the time, the target's passes {whole['verify']} %, "
        f"{back}sampling and everything else {whole['other']} %."
    )


def _break_even(view: TurnView) -> str:
    if view.break_even is None and view.figures.num_rounds and view.figures.alpha is None:
        return "Nothing was drafted, so there is no α that could be compared with the one needed."
    if view.break_even is None:
        return "The α above which drafting pays off on this machine. It shows once the speed-up is known."
    sentence = view.break_even.sentence()
    return f"Drafting {sentence}." if view.break_even.needed is not None else f"{sentence.capitalize()}."


def _k(view: TurnView) -> str:
    if not view.figures.num_rounds:
        return "The most tokens that a round may draft, and the reason."
    reason = clean_line(view.reason) or "none given"
    limited = f" The last round: {view.limit}." if view.limit else ""
    return f"A round drafts at most {view.k} tokens. The reason: {reason}.{limited}"


def _sources(view: TurnView) -> str:
    drafts = {name: figures.num_drafts for name, figures in view.summary.by_source.items() if figures.num_drafts}
    if not drafts:
        return "Where drafts come from: a draft model, a head of the target, or lookup, which copies from earlier text."
    total = sum(drafts.values())
    drafts = dict(sorted(drafts.items(), key=lambda source: -source[1]))
    whole = zip(drafts, percents(count / total for count in drafts.values()), strict=True)
    told = " and ".join(f"{share} % from {clean_line(name)}" for name, share in whole)
    return (
        f"{total} drafts: {told}. A draft model and a head predict; lookup copies what followed the same words before."
    )


def _memory(view: TurnView) -> str:
    use = view.memory
    parts: Mapping[str, int | None] = (
        {
            "The target": use.target_weights,
            "its cache": use.target_cache,
            "the draft": use.draft_weights,
            "the draft's cache": use.draft_cache,
            "compute buffers": use.compute,
        }
        if use
        else {}
    )
    told = [f"{name} {_bytes(size)}" for name, size in parts.items() if size]
    if not told:
        return (
            "The memory that models and caches take. A cache is reserved for the whole context when a model is loaded."
        )
    total = _bytes(sum(size for size in parts.values() if size))
    return f"{', '.join(told)}: {total} in all. The caches are reserved for the whole context."


def _so_far(view: TurnView) -> str:
    figures = view.figures
    if not figures.num_rounds:
        return "The tokens of the answer, and the rounds that made them."
    rounds = f"{figures.num_rounds} round{'' if figures.num_rounds == 1 else 's'}"
    tokens = f"{figures.num_tokens} token{'' if figures.num_tokens == 1 else 's'}"
    return f"{rounds} gave {tokens}. A round has one target pass."


def _rounds(view: TurnView) -> str:
    figures = view.figures
    signs = "● is an accepted token, ○ a rejected and · a discarded one; the target's own ends the round."
    if not figures.num_draft_tokens:
        return f"Each word is a round: {signs}"
    discarded = figures.num_draft_tokens - figures.num_tested_tokens
    counts = f"● {figures.num_accepted_tokens}, ○ {figures.num_rejected_tokens}, · {discarded}"
    if figures.num_siblings:
        rest = figures.num_draft_tokens - figures.num_accepted_tokens
        counts = f"● {figures.num_accepted_tokens}, ○ and · {rest}, with those of other branches"
    return f"Each word is a round: {signs} In this answer: {counts}."


def _verifier(view: TurnView) -> str:
    if not view.verifier:
        return "The verifier is the rule by which drafted tokens are accepted or rejected."
    return f"The verifier {clean_line(view.verifier)} decided which drafted tokens were accepted."


def _bytes(size: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}" if size < 10 * scale else f"{size / scale:.0f} {unit}"
    return f"{size / 1e3:.0f} kB"


_SENTENCES: Mapping[Figure, Callable[[TurnView], str]] = {
    Figure.SPEED: _speed,
    Figure.SPEEDUP: _speedup,
    Figure.ACCEPTED: _accepted,
    Figure.ALPHA: _alpha,
    Figure.TAU: _tau,
    Figure.ALPHA_AND_RATE: _alpha_and_rate,
    Figure.BY_POSITION: _by_position,
    Figure.TIME: _time,
    Figure.BREAK_EVEN: _break_even,
    Figure.K: _k,
    Figure.SOURCES: _sources,
    Figure.MEMORY: _memory,
    Figure.SO_FAR: _so_far,
    Figure.ROUNDS: _rounds,
    Figure.VERIFIER: _verifier,
}
