"""Explanations of the figures about time: tokens per second, the speed-up, break-even, and where the time went."""

from __future__ import annotations

from specchat.stats.explain import Figure, explain
from specchat.stats.explanations.explanation import SAME, Explanation, figures_place
from specchat.stats.line import speed_words, speedup_words
from specchat.stats.turn import TurnView
from specchat.terminal.blocks import per_cent


def speed(view: TurnView) -> Explanation:
    """Tokens per second."""
    figures = view.figures
    paragraphs = [explain(Figure.SPEED, view)]
    if figures.num_rounds:
        paragraphs.append(
            f"Each of the {figures.num_rounds} rounds took {figures.decode_ms / figures.num_rounds:.1f} ms on average "
            f"and gave {figures.num_tokens / figures.num_rounds:.1f} tokens."
        )
    paragraphs.append(
        "While an answer streams, the figure covers the last 24 rounds. At the end it covers all of them."
    )
    value = speed_words(figures.tokens_per_second) if figures.tokens_per_second else ""
    return Explanation("tok/s", tuple(paragraphs), figures_place("Speed"), value)


def speedup(view: TurnView) -> Explanation:
    """The speed-up over plain decoding."""
    found = view.summary.speedup
    paragraphs = [explain(Figure.SPEEDUP, view)]
    if found is not None:
        change = found - 1
        saved = view.summary.plain_ms - view.summary.against_ms
        if abs(change) < SAME:
            verdict = "Drafting cost about as much time as it saved."
        elif change > 0:
            verdict = f"So drafting saved {saved:.0f} ms: the answer was {per_cent(change)} faster."
        else:
            verdict = f"So drafting cost {-saved:.0f} ms: the answer was {per_cent(-change)} slower."
        paragraphs.append(verdict)
    if view.disturbed:
        paragraphs.append("Other programs took much of the processors during this answer, which slowed it down.")
    paragraphs.append(
        "Plain decoding makes one token with each pass of the target. Passes without a draft are timed to measure it."
    )
    value = speedup_words(found) if view.figures.num_rounds else ""
    return Explanation("× plain", tuple(paragraphs), figures_place("Speed"), value)


def break_even(view: TurnView) -> Explanation:
    """The α that would have paid off."""
    gauge = view.break_even
    paragraphs = [explain(Figure.BREAK_EVEN, view)]
    value = ""
    if gauge is not None and gauge.needed is None:
        paragraphs.append(
            "Even if the target had accepted every drafted token, drafting and the wider passes of the target would "
            "have taken longer than plain decoding."
        )
    elif gauge is not None and gauge.needed is not None:
        value = f"{gauge.needed:.2f}"
        paragraphs.append(
            f"If every drafted token had been accepted, the same rounds would have been {gauge.most:.2f} × plain."
        )
    paragraphs.append(
        "The gauge follows from the speed-up: with another α the same rounds would give more or fewer tokens."
    )
    return Explanation("α needed", tuple(paragraphs), figures_place("Break-even"), value)


def time(view: TurnView) -> Explanation:
    """Where the time went."""
    figures = view.figures
    paragraphs = [explain(Figure.TIME, view)]
    value = ""
    if figures.shares:
        value = f"draft {per_cent(figures.shares['draft'])}"
        paragraphs.append(
            f"A pass of the target took {figures.verify_ms / figures.num_rounds:.1f} ms on average"
            + (
                f", and a draft of {figures.mean_draft:.1f} tokens {figures.draft_ms / figures.num_drafts:.1f} ms."
                if figures.num_drafts
                else "."
            )
        )
    paragraphs.append(
        "A pass over a few tokens takes little longer than one over a single token while the weights, which are moved "
        "from memory once for either, take most of the time."
    )
    return Explanation("time", tuple(paragraphs), figures_place("Time"), value)
