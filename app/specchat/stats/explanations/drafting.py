"""Explanations of what drafted, how much, under which rule, and of the ribbon of rounds."""

from __future__ import annotations

from specchat.manual.sections import Place
from specchat.stats.explain import Figure, explain
from specchat.stats.explanations.explanation import LOSSLESS_PAGE, Explanation, figures_place
from specchat.stats.explanations.rules import about_rule
from specchat.stats.turn import TurnView
from specchat.terminal.filter import clean_line


def sources(view: TurnView) -> Explanation:
    """Where drafts came from, and how good each source was."""
    paragraphs = [explain(Figure.SOURCES, view)]
    for name, figures in view.summary.by_source.items():
        if figures.num_drafts and figures.alpha is not None:
            paragraphs.append(
                f"{clean_line(name)}: {figures.num_accepted_tokens} of {figures.num_draft_tokens} drafted tokens "
                f"accepted, α {figures.alpha:.2f}."
            )
    paragraphs.append("With the drafter hybrid, the source is chosen before each round by what it promises to gain.")
    return Explanation("drafts", tuple(paragraphs), figures_place("Drafts"))


def length(view: TurnView) -> Explanation:
    """k and its reason."""
    figures = view.figures
    paragraphs = [explain(Figure.K, view)]
    if figures.num_drafts:
        paragraphs.append(
            f"Over the answer, drafts were {figures.mean_draft:.1f} tokens long on average; "
            f"{figures.num_rounds - figures.num_drafts} of {figures.num_rounds} rounds had none."
        )
    paragraphs.append(
        "k 0 is plain decoding. A larger k gains more where the draft is right and loses more where it is wrong. With "
        "k auto it is chosen before each round from measured times and shares."
    )
    return Explanation("k", tuple(paragraphs), figures_place("Drafts"), str(view.k) if figures.num_rounds else "")


def so_far(view: TurnView) -> Explanation:
    """Tokens and rounds."""
    figures = view.figures
    paragraphs = [explain(Figure.SO_FAR, view)]
    if figures.num_rounds:
        saved = figures.num_tokens - figures.num_rounds
        paragraphs.append(
            f"Plain decoding needs a pass of the target for each token, {figures.num_tokens} in all. "
            f"Drafting saved {saved if saved > 0 else 'none'} of them."
        )
    value = f"{figures.num_tokens} tokens" if figures.num_rounds else ""
    return Explanation("so far", tuple(paragraphs), figures_place("Rounds"), value)


def rounds(view: TurnView) -> Explanation:
    """The signs of the ribbon."""
    paragraphs = (
        explain(Figure.ROUNDS, view),
        "The target's own token is ◆ after a rejection, ◇ after a draft that was accepted as a whole, and □ where "
        "nothing was drafted. Branches of a tree stand in parentheses.",
    )
    return Explanation("rounds", paragraphs, figures_place("Rounds"))


def verifier(view: TurnView) -> Explanation:
    """The rule that accepts and rejects."""
    paragraphs = (explain(Figure.VERIFIER, view), *about_rule(view.verifier))
    return Explanation("verifier", paragraphs, Place(LOSSLESS_PAGE, "The rules"), view.verifier)
