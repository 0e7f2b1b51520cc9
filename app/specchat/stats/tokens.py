"""Explains single tokens: whether they were accepted in their round and why, and the alternatives at a position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from specchat.manual.sections import SectionAddress
from specchat.stats.figures.figure import FIGURES_PAGE, LOSSLESS_PAGE, Explanation, counted
from specchat.stats.limits import limit
from specchat.stats.rules import Chances, accepted_by, chance, rejected_by
from specchat.terminal.filter import clean, clean_line
from specchat.terminal.palette import LOOKS
from specchat.terminal.pieces import UNKNOWN, visible
from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.decoding.rounds import DraftedToken, Outcome, Round, TargetToken, TokenKind, by_model, drafter_of

_TOKENS = SectionAddress(FIGURES_PAGE, "Tokens")
_RULES = SectionAddress(LOSSLESS_PAGE, "The rules")


@dataclass(frozen=True, slots=True)
class Decided:
    """What decided about the tokens of a round, besides their probabilities.

    `temperature` is None if it is not known. `removed` has, by token id, the sampling stage that removed a token from
    the target's candidates, such as `grammar`.
    """

    verifier: str = "coupled"
    temperature: float | None = None
    removed: Mapping[int, str] | None = None

    @property
    def greedy(self) -> bool:
        """Whether the target takes its likeliest token."""
        return self.temperature == 0


def explain_round(event: Round, decided: Decided, in_thought: Sequence[bool] = ()) -> list[Explanation]:
    """The explanations of all tokens of a round: of the drafted ones in their order, then of the target's own.

    `in_thought` says of each emitted token, in the order of the text, whether it belongs to the model's thought.
    """
    tokens: list[DraftedToken | TargetToken] = [*event.drafted]
    tokens += [event.token] if event.token.kind is not TokenKind.NONE else []
    thoughts = iter(in_thought)
    explanations = []
    for index, token in enumerate(tokens):
        explanation = explain_token(event, index, decided)
        if token in event.emitted and next(thoughts, False):
            thought = "It belongs to the model's thought, which is drafted and verified like the answer."
            explanation = replace(explanation, paragraphs=(*explanation.paragraphs, thought))
        explanations.append(explanation)
    return explanations


def explain_token(event: Round, index: int, decided: Decided) -> Explanation:
    """The explanation of drafted token `index`, or of the target's own for the index after the last drafted one."""
    if index >= len(event.drafted):
        return Explanation(
            f"{LOOKS[event.token.kind].glyph} {_sign(event.token)}",
            _own(event, decided),
            _TOKENS,
            event.token.kind.value,
        )
    token = event.drafted[index]
    match token.outcome:
        case Outcome.ACCEPTED:
            paragraphs, more = _accepted(event, token, decided), _TOKENS
        case Outcome.REJECTED:
            paragraphs, more = _rejected(event, index, decided), _RULES
        case Outcome.DISCARDED:
            paragraphs, more = _discarded(event, token), _TOKENS
    return Explanation(f"{LOOKS[token.outcome].glyph} {_sign(token)}", paragraphs, more, token.outcome.value)


def explain_alternatives(inspection: Inspection) -> list[Explanation]:
    """The explanations of all tokens of an inspection, in its order."""
    answered = next((token for token in inspection.tokens if token.id == inspection.said), None)
    return [_explained_alternative(token, answered) for token in inspection.tokens]


def _accepted(event: Round, token: DraftedToken, decided: Decided) -> tuple[str, ...]:
    chances = Chances(_quoted(token), token.q, token.p, _quoted(token))
    why = accepted_by(decided.verifier, chances, greedy=decided.greedy)
    gave = f"The round's one target pass gave {counted(event.num_emitted, 'token')}."
    return f"{_proposed(event, token, decided)} {why}", f"{gave} Without a draft each takes a pass of its own."


def _rejected(event: Round, index: int, decided: Decided) -> tuple[str, ...]:
    token, depth = event.drafted[index], event.depths[index]
    text, taken = _quoted(token), _quoted(event.emitted[depth]) if depth < event.num_emitted else "another token"
    stage = (decided.removed or {}).get(token.id) if token.id is not None else None
    if stage == "grammar":
        why = f"The grammar does not allow {text} here, so the target cannot draw it. It drew {taken}."
    elif token.p == 0 and not decided.greedy:
        who = f"The sampling stage {clean_line(stage)}" if stage else "Its sampling or a grammar"
        why = f"{who} had removed {text} from what can be drawn. The target drew {taken}."
    elif depth < event.num_accepted:
        why = f"The draft tree had several tokens for this place. The target took another one of them, {taken}."
    else:
        chances = Chances(text, token.q, token.p, taken)
        why = rejected_by(decided.verifier, chances, greedy=decided.greedy)
    lost = sum(other.outcome is Outcome.DISCARDED for other in event.drafted)
    after = f"{counted(lost, 'token')} drafted after it {'was' if lost == 1 else 'were'} discarded."
    return (f"{_proposed(event, token, decided)} {why}", *([after] if lost and not event.parents else []))


def _discarded(event: Round, token: DraftedToken) -> tuple[str, ...]:
    rejected = [_quoted(other) for other in event.drafted if other.outcome is Outcome.REJECTED]
    if event.parents:
        first = f"{_quoted(token)} stood on a branch of the draft tree that the answer did not take."
    elif rejected:
        first = f"{_quoted(token)} was drafted to come after {rejected[0]}, which the target rejected."
    else:
        first = f"The answer ended before {_quoted(token)}."
    return (
        f"{first} So it was never compared, and nobody knows whether it was right.",
        "It counts as drafted and lowers the acceptance rate, but not α.",
    )


def _own(event: Round, decided: Decided) -> tuple[str, ...]:
    p, text = event.token.p, _quoted(event.token)
    likely = "" if p is None else f" with probability {chance(p)}"
    drew = f"took its likeliest token, {text}" if decided.greedy else f"drew {text}{likely}"
    match event.token.kind:
        case TokenKind.CORRECTION:
            rejected = [_quoted(token) for token in event.drafted if token.outcome is Outcome.REJECTED]
            first = f"The target rejected {rejected[0]} and {drew}." if rejected else f"The target {drew}."
            rest = "It cost no further pass: the one that compared the draft had the target's probabilities here, too."
        case TokenKind.BONUS:
            first = f"The target accepted the whole draft of {counted(event.num_accepted, 'token')} and then {drew}."
            if event.parents:
                first = f"The target followed the draft tree to the end of a branch and then {drew}."
            rest = "It cost no further pass: the one over the draft also gave the probabilities after its last token."
        case _:
            first = f"Nothing was drafted in this round. The target {drew}, as in plain decoding."
            rest = f"The reason: {clean_line(event.reason) or 'none given'}."
    if event.drafted and (why := limit(event)):
        rest = f"{rest} It drafted {why}."
    return first, rest


def _explained_alternative(token: InspectedToken, answered: InspectedToken | None) -> Explanation:
    text = _quoted(token)
    first = f"The target ranks {text} number {token.rank} here and gives it {chance(token.raw_p)} before sampling"
    if token.removed_by:
        after = f". {_removed(token.removed_by)}, so it cannot be drawn."
    else:
        after = f", {chance(token.p)} after it."
    paragraphs = [first + after]
    if token.draft_rank is not None and token.raw_q is not None:
        paragraphs.append(f"The draft ranks it number {token.draft_rank} and gives it {chance(token.raw_q)}.")
    if answered is not None and token.id == answered.id:
        paragraphs.append("This is the token of the answer.")
    elif answered is not None:
        paragraphs.append(
            f"The answer has {_quoted(answered)} here, to which the target gives {chance(answered.raw_p)} before "
            f"sampling. Enter in the inspector continues the answer with {text} instead."
        )
    return Explanation(
        f"  {_sign(token)}",
        tuple(paragraphs),
        _TOKENS,
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


def _proposed(event: Round, token: DraftedToken, decided: Decided) -> str:
    """Who proposed a token, and what both gave it."""
    who, text = f"The draft ({clean_line(drafter_of(event.source))})", _quoted(token)
    if decided.greedy:
        return f"{who} proposed {text}."
    if token.q is None:
        did = "proposed" if by_model(event.source) else "copied"
        target = "" if token.p is None else f" The target gave it {chance(token.p)}."
        return f"{who} {did} {text}.{target}"
    target = "" if token.p is None else f"; the target {chance(token.p)}"
    return f"{who} gave {text} {chance(token.q)}{target}."


def _quoted(token: DraftedToken | TargetToken | InspectedToken) -> str:
    """A token in a sentence, where a comma would be misread without quotes."""
    return f"“{_sign(token)}”"


def _sign(token: DraftedToken | TargetToken | InspectedToken) -> str:
    if isinstance(token, DraftedToken) and token.is_unknown:
        return UNKNOWN
    return visible(clean(token.text))
