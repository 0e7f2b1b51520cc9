"""Explanations of the figures about acceptance: the rate, α, τ, and acceptance by position."""

from __future__ import annotations

from specchat.stats.explain import Figure, explain
from specchat.stats.explanations.explanation import SAME, Explanation, figures_place
from specchat.stats.turn import TurnView
from specchat.terminal.blocks import per_cent
from specchat_engine.analysis.theory import expected_tokens


def accepted(view: TurnView) -> Explanation:
    """The acceptance rate."""
    figures = view.figures
    paragraphs = [explain(Figure.ACCEPTED, view)]
    if figures.num_draft_tokens:
        paragraphs.append(_parts(view))
    paragraphs.append(
        "The rate counts every drafted token. Long drafts lower it, because tokens after a rejected one are lost; "
        "they may still be faster."
    )
    value = per_cent(figures.acceptance_rate) if figures.acceptance_rate is not None else ""
    return Explanation("accepted", tuple(paragraphs), figures_place("Acceptance"), value)


def alpha(view: TurnView) -> Explanation:
    """α, what it estimates, and whether it was enough."""
    figures, gauge = view.figures, view.break_even
    value = ""
    if figures.alpha is None:
        paragraphs = [explain(Figure.ALPHA, view)]
    else:
        value = f"{figures.alpha:.2f}"
        paragraphs = [
            f"Of {_counted(figures.num_tested_tokens, 'drafted token')} that {_were(figures.num_tested_tokens)} "
            f"compared with the target, {figures.num_accepted_tokens} {_were(figures.num_accepted_tokens)} accepted: "
            f"{per_cent(figures.alpha)}."
        ]
    paragraphs.append("α estimates how likely the target is to accept the next drafted token, if it gets that far.")
    if figures.alpha is not None and view.k:
        expected = expected_tokens(figures.alpha, view.k)
        paragraphs.append(f"With it, a draft of {view.k} tokens gives {expected:.1f} tokens a pass on average.")
    if gauge is not None and gauge.needed is not None:
        effect = "gained" if gauge.pays else "cost"
        change = f"{effect} {per_cent(abs(gauge.speedup - 1))}"
        if abs(gauge.speedup - 1) < SAME:
            change = "gained about as much as it cost"
        paragraphs.append(f"Break-even here is {gauge.needed:.2f}, so drafting {change}.")
    if figures.alpha is not None and figures.num_draft_tokens > figures.num_tested_tokens:
        paragraphs.append(explain(Figure.ALPHA_AND_RATE, view))
    return Explanation("α", tuple(paragraphs), figures_place("Acceptance"), value)


def tau(view: TurnView) -> Explanation:
    """Tokens per target pass."""
    figures = view.figures
    paragraphs = [explain(Figure.TAU, view)]
    if figures.num_drafts:
        paragraphs.append(
            f"{figures.num_accepted_tokens} of them were drafted and accepted. The others are the target's own, one at "
            f"the end of nearly every round. {figures.num_drafts} of {figures.num_rounds} rounds had a draft, "
            f"{figures.mean_draft:.1f} tokens long on average."
        )
    paragraphs.append(
        "τ is what speculation would gain if drafting cost nothing and a pass over several tokens took no longer than "
        "one over a single token."
    )
    value = f"{figures.block_efficiency:.2f}" if figures.block_efficiency is not None else ""
    return Explanation("τ", tuple(paragraphs), figures_place("Acceptance"), value)


def by_position(view: TurnView) -> Explanation:
    """Acceptance at each position of the drafts."""
    figures = view.figures
    paragraphs = [explain(Figure.BY_POSITION, view)]
    value = ""
    if figures.drafted_at:
        places = zip(figures.accepted_by_place, figures.drafted_at, strict=True)
        shares = [f"{place}: {per_cent(share)} of {drafts}" for place, (share, drafts) in enumerate(places, 1)]
        paragraphs.append(f"{', '.join(shares)}.")
        value = per_cent(figures.accepted_by_place[0])
    paragraphs.append("Where the share becomes small, longer drafts are mostly wasted: that is what a smaller k saves.")
    return Explanation("by place", tuple(paragraphs), figures_place("Acceptance"), value)


def _parts(view: TurnView) -> str:
    figures = view.figures
    discarded = figures.num_draft_tokens - figures.num_tested_tokens
    how = "after a rejected one or on another branch" if figures.num_siblings else "without a comparison"
    return (
        f"{_counted(figures.num_rejected_tokens, 'token')} {_were(figures.num_rejected_tokens)} compared and rejected, "
        f"{discarded} {_were(discarded)} discarded {how}."
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
