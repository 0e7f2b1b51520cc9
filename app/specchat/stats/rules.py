"""The verifiers in words: what each rule promises, and how it judged one token."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_ABOUT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "coupled": (
            "The draft and the target draw with the same random numbers. A drafted token is accepted exactly when the "
            "target draws it too, so the text is the target's own for this seed, with or without a draft.",
        ),
        "rejection": (
            "A drafted token is accepted with probability min(1, p / q). A rejected one is drawn again from what p has "
            "more than q. So the text is distributed exactly like the target's, but another k gives another text.",
        ),
        "block": (
            "The draft is judged as a whole: the longest beginning that passes its test is accepted. The text is "
            "distributed exactly like the target's, and at least as many tokens are accepted as with rejection.",
        ),
        "typical": (
            "A drafted token is accepted if p is above a threshold: 0.09, or less where the target is unsure.",
            "≈ This rule is lossy: the text favours what the draft proposes.",
        ),
    }
)


def about_rule(verifier: str) -> tuple[str, ...]:
    """What a rule does and promises; nothing for one that is not known."""
    return _ABOUT.get(verifier, ())


class Chances(NamedTuple):
    """A compared token: its text, its probabilities in the draft and the target, and what the target drew.

    `q` is None for a drafter without probabilities, such as one that copies; `p` is None if it is not known.
    """

    text: str
    q: float | None
    p: float | None
    drawn: str

    @property
    def ratio(self) -> float | None:
        """min(1, p / q), the chance that the rule rejection gives; q is 1 for a copied token."""
        if self.p is None:
            return None
        q = 1.0 if self.q is None else self.q
        return min(1.0, self.p / q) if q > 0 else 1.0


def chance(value: float) -> str:
    """A probability in running text: `0.08`, `below 0.01`, `0`."""
    if 0 < value < 0.005:
        return "below 0.01"
    return f"{value:.2f}" if value else "0"


def accepted_by(verifier: str, chances: Chances, *, greedy: bool) -> str:
    """Why a rule accepted a token."""
    if greedy:
        return f"At temperature 0 the target takes its likeliest token. That was {chances.text}, so it was accepted."
    match verifier:
        case "coupled":
            return f"The target, drawing with the same random numbers, drew {chances.text} too, so it was accepted."
        case "rejection" if chances.ratio == 1:
            return "The target gave it at least as much as the draft, so the rule always accepts it."
        case "rejection" if chances.ratio is not None:
            return f"{_tested(chances.q, chances.ratio)} the draw was below, so it was accepted."
        case "block":
            return "The rule judges the draft as a whole: this is part of the longest beginning that passed its test."
        case "typical":
            return f"That is above {_THRESHOLD}. So it was accepted (≈ lossy)."
    return f"The target accepted {chances.text}."


def rejected_by(verifier: str, chances: Chances, *, greedy: bool) -> str:
    """Why a rule rejected a token."""
    text, drawn = chances.text, chances.drawn
    if greedy:
        return f"At temperature 0 the target takes its likeliest token. That was {drawn}, so {text} was rejected."
    redrawn = f"{drawn} was drawn in its place, from what the target gives more than the draft."
    match verifier:
        case "coupled":
            drew = f"The target, drawing with the same random numbers, drew {drawn}"
            return f"{drew}, so {text} was rejected.{_odds(chances)}"
        case "rejection" if chances.ratio is not None:
            return f"{_tested(chances.q, chances.ratio)} the draw was above, so it was rejected. {redrawn}"
        case "block":
            judged = "The rule judges the draft as a whole"
            return f"{judged}: the longest beginning that passed its test ended before this token. {redrawn}"
        case "typical":
            return f"That is not above {_THRESHOLD}. So it was rejected, and the target drew {drawn}."
    return f"The target rejected {text} and took {drawn}."


_THRESHOLD = "the rule's threshold, which is 0.09 or, where the target is unsure, less"


def _tested(q: float | None, ratio: float) -> str:
    formula = "p" if q is None else "min(1, p/q)"
    return f"The rule accepts it with probability {formula} = {chance(ratio)};"


def _odds(chances: Chances) -> str:
    """How often the coupled rule accepts a token with these probabilities: at most min(1, p / q)."""
    if chances.ratio is None:
        return ""
    if chances.ratio == 1:
        return " The target finds it at least as likely as the draft, but a draw does not always take a likely token."
    often = (
        f"at most {chances.ratio * 100:.0f} times in 100" if chances.ratio >= 0.005 else "less than once in 100 times"
    )
    return f" With these probabilities it is accepted {often}."
