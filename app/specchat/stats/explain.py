"""One sentence for each figure of the dashboard, with the turn's own numbers put in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from specchat.terminal.blocks import per_cent
from specchat.terminal.filter import clean_line

if TYPE_CHECKING:
    from specchat.stats.break_even import BreakEven
    from specchat.stats.summary import Figures, Summary
    from specchat_engine.memory.memory_use import MemoryUse


class Figure(StrEnum):
    """What the dashboard shows."""

    SPEED = "tok/s"
    SPEEDUP = "× plain"
    ACCEPTED = "accepted"
    ALPHA = "α"
    TAU = "τ"
    ALPHA_AND_RATE = "α and acceptance"
    BY_POSITION = "by position"
    TIME = "time"
    BREAK_EVEN = "break-even"
    K = "k"
    SOURCES = "sources"
    MEMORY = "memory"


class Shown(NamedTuple):
    """What the figures stand for: the turn so far, its last k and the reason, the gauge and the memory if known."""

    summary: Summary
    k: int = 0
    reason: str = ""
    break_even: BreakEven | None = None
    memory: MemoryUse | None = None

    @property
    def figures(self) -> Figures:
        """The figures of all rounds."""
        return self.summary.total


def explain(figure: Figure, shown: Shown) -> str:
    """The sentence for one figure; where nothing was measured yet it says what will stand there."""
    return _SENTENCES[figure](shown)


def explanations(shown: Shown) -> dict[Figure, str]:
    """All sentences, in the order of the dashboard."""
    return {figure: explain(figure, shown) for figure in Figure}


def _speed(shown: Shown) -> str:
    figures = shown.figures
    if figures.tokens_per_second is None:
        return "Tokens a second while decoding, without the time that reading the prompt takes."
    return (
        f"{figures.num_tokens} tokens in {figures.decode_ms:.0f} ms of decoding are {figures.tokens_per_second:.1f} a "
        "second; reading the prompt does not count."
    )


def _speedup(shown: Shown) -> str:
    summary = shown.summary
    if summary.speedup is None:
        return "How much faster this is than plain decoding, once a plain pass has been timed here."
    return (
        f"Plain decoding would have taken {summary.plain_ms:.0f} ms at the pace of plain passes timed on this machine, "
        f"this took {summary.against_ms:.0f} ms: {summary.speedup:.2f} ×."
    )


def _accepted(shown: Shown) -> str:
    figures = shown.figures
    if figures.acceptance_rate is None:
        return "The share of drafted tokens that became part of the answer."
    return (
        f"{figures.num_accepted} of {figures.num_draft_tokens} drafted tokens became part of the answer: "
        f"{per_cent(figures.acceptance_rate)}."
    )


def _alpha(shown: Shown) -> str:
    figures = shown.figures
    if figures.alpha is None:
        return "α is the share of the drafted tokens that the target agreed with, of those that it looked at."
    return (
        f"Of {figures.num_tested} drafted tokens that were compared with the target's own, {figures.num_accepted} were "
        f"the same: α {figures.alpha:.2f}."
    )


def _tau(shown: Shown) -> str:
    figures = shown.figures
    if figures.block_efficiency is None:
        return "τ is how many tokens one pass of the target gives: 1 without drafts, k + 1 at most."
    return (
        f"{figures.num_tokens} tokens came of {figures.num_rounds} passes of the target: "
        f"τ {figures.block_efficiency:.2f}, where plain decoding has 1."
    )


def _alpha_and_rate(shown: Shown) -> str:
    figures = shown.figures
    if figures.alpha is None or figures.acceptance_rate is None:
        return "The acceptance rate counts every drafted token, α only those that were compared."
    discarded = figures.num_draft_tokens - figures.num_tested
    return (
        f"Behind a refused token {discarded} were discarded unseen: they count as drafted ({figures.num_accepted}/"
        f"{figures.num_draft_tokens} = {per_cent(figures.acceptance_rate)} accepted), not as compared "
        f"({figures.num_accepted}/{figures.num_tested} = α {figures.alpha:.2f})."
    )


def _by_position(shown: Shown) -> str:
    figures = shown.figures
    if not figures.drafted_at:
        return "For each position in a draft, how often the token there was accepted."
    last = len(figures.drafted_at)
    first_share = figures.accepted_at[0] / figures.drafted_at[0]
    last_share = figures.accepted_at[-1] / figures.drafted_at[-1]
    return (
        f"The first token of a draft was accepted in {per_cent(first_share)} of {figures.drafted_at[0]} drafts, "
        f"the one at position {last} in {per_cent(last_share)} of {figures.drafted_at[-1]}: it needs all before it."
    )


def _time(shown: Shown) -> str:
    shares = shown.figures.shares
    if not shares:
        return "Where the time went: drafting, the target's passes, going back behind refused tokens, and the rest."
    back = f"going back behind refused tokens {per_cent(shares['rollback'])}, " if shares["rollback"] >= 0.005 else ""
    return (
        f"Drafting took {per_cent(shares['draft'])} of the time, the target's passes {per_cent(shares['verify'])}, "
        f"{back}sampling and all else {per_cent(shares['other'])}."
    )


def _break_even(shown: Shown) -> str:
    if shown.break_even is None:
        return "The α above which drafting pays here, once it is known what passes cost."
    return f"Drafting {shown.break_even.sentence()}."


def _k(shown: Shown) -> str:
    if not shown.figures.num_rounds:
        return "The most tokens that are drafted in a round, and why so many."
    reason = clean_line(shown.reason) or "none given"
    return f"At most {shown.k} tokens are drafted in a round, and the reason is: {reason}."


def _sources(shown: Shown) -> str:
    drafts = {name: figures.num_drafts for name, figures in shown.summary.by_source.items() if figures.num_drafts}
    if not drafts:
        return "Who drafts: the draft model, or lookup, which copies what followed the same words before."
    total = sum(drafts.values())
    told = " and ".join(f"{per_cent(count / total)} from {clean_line(name)}" for name, count in drafts.items())
    return f"Of {total} drafts {told} (a draft model guesses, lookup copies what followed the same words before)."


def _memory(shown: Shown) -> str:
    use = shown.memory
    parts: Mapping[str, int | None] = (
        {
            "The target": use.target_weights,
            "its cache": use.target_cache,
            "the draft": use.draft_weights,
            "the draft's cache": use.draft_cache,
            "buffers of passes": use.compute,
        }
        if use
        else {}
    )
    told = [f"{name} {_bytes(size)}" for name, size in parts.items() if size]
    if not told:
        return (
            "How much memory models and caches take; a cache is reserved for the whole context when a model is loaded."
        )
    total = _bytes(sum(size for size in parts.values() if size))
    return f"{', '.join(told)}: {total} in all, of which caches are reserved for the whole context."


def _bytes(size: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}" if size < 10 * scale else f"{size / scale:.0f} {unit}"
    return f"{size / 1e3:.0f} kB"


_SENTENCES: Mapping[Figure, Callable[[Shown], str]] = {
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
}
