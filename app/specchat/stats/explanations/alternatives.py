"""Explanations of the alternatives at one position of an answer."""

from __future__ import annotations

from specchat.stats.explanations.explanation import Explanation, figures_place
from specchat.stats.explanations.rules import chance
from specchat.terminal.filter import clean, clean_line
from specchat.terminal.pieces import visible
from specchat_engine.analysis.inspection import InspectedToken, Inspection


def explain_alternatives(inspection: Inspection) -> list[Explanation]:
    """The explanations of all tokens of an inspection, in its order."""
    said = next((token for token in inspection.tokens if token.id == inspection.said), None)
    return [_explained(token, said) for token in inspection.tokens]


def _explained(token: InspectedToken, said: InspectedToken | None) -> Explanation:
    text = f"“{_sign(token)}”"
    first = f"The target ranks {text} number {token.rank} here and gives it {chance(token.raw_p)} before sampling"
    if token.removed_by:
        after = f". {_removed(token.removed_by)}, so it cannot be drawn."
    else:
        after = f", {chance(token.p)} after it."
    paragraphs = [first + after]
    if token.draft_rank is not None and token.raw_q is not None:
        paragraphs.append(f"The draft ranks it number {token.draft_rank} and gives it {chance(token.raw_q)}.")
    if said is not None and token.id == said.id:
        paragraphs.append("This is the token of the answer.")
    elif said is not None:
        paragraphs.append(
            f"The answer has “{_sign(said)}” here, to which the target gives {chance(said.raw_p)} before sampling. "
            f"Enter in the inspector continues the answer with {text} instead."
        )
    return Explanation(
        f"  {_sign(token)}",
        tuple(paragraphs),
        figures_place("Tokens"),
        "removed" if token.removed_by else f"p {token.p:.2f}",
    )


def _removed(stage: str) -> str:
    match stage:
        case "grammar":
            return "The grammar does not allow it"
        case "temperature":
            return "At temperature 0 only the likeliest token is left"
        case "logit-bias":
            return "It is banned"
    return f"The sampling stage {clean_line(stage)} removes it"


def _sign(token: InspectedToken) -> str:
    return visible(clean(token.text))
