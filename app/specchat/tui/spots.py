"""The tokens of an answer that can be inspected, with what the trace says about them."""

from __future__ import annotations

from dataclasses import dataclass

from specchat.terminal.palette import LOOKS
from specchat.traces.trace import Trace
from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.decoding.rounds import Outcome, Round, TokenKind


@dataclass(frozen=True, slots=True)
class Spot:
    """One token of a round. `position` counts output tokens from 0; it is None for a token that was never compared."""

    id: int
    text: str
    glyph: str
    ink: str
    q: float | None
    p: float | None
    position: int | None
    remark: str = ""


def output_tokens(trace: Trace) -> tuple[int, ...]:
    """The token ids of the answer, including the text that it was made to begin with."""
    said = [int(token) for token in trace.start.get("prefix", ())]
    for event in trace.rounds:
        said += _emitted(event)
    return tuple(said)


def position_of(trace: Trace, place: int) -> int:
    """The output position of the first token of round `place` of the trace."""
    before = len(trace.start.get("prefix", ()))
    return before + sum(event.num_emitted for event in trace.rounds[:place])


def spots(trace: Trace, place: int) -> list[Spot]:
    """The tokens of round `place`, the target's own after the drafted ones."""
    event, at = trace.rounds[place], position_of(trace, place)
    found = []
    for number, token in enumerate(event.drafted):
        compared = token.outcome is not Outcome.DISCARDED
        remark = ""
        if token.outcome is Outcome.REJECTED and event.token.kind is not TokenKind.NONE:
            remark = f"rejected: the target drew {visible(event.token.text)}"
        elif not compared:
            remark = "never compared"
        look = LOOKS[token.outcome]
        position = at + number if compared else None
        found.append(Spot(token.id, token.text, look.glyph, token.outcome.value, token.q, token.p, position, remark))
    own = event.token
    if own.id is not None:
        look = LOOKS[own.kind]
        found.append(
            Spot(own.id, own.text, look.glyph, own.kind.value, None, own.p, at + event.num_accepted, own.kind.value)
        )
    return found


def prefix_at(trace: Trace, position: int, token: int) -> tuple[int, ...]:
    """The tokens of the answer before a position, and then this token."""
    return (*output_tokens(trace)[:position], token)


def asked_at(trace: Trace, place: int, position: int) -> tuple[int, ...]:
    """The tokens of a round that were drafted or drawn at one output position."""
    return tuple(dict.fromkeys(spot.id for spot in spots(trace, place) if spot.position == position))


def visible(text: str) -> str:
    """A token's text on one line, with signs for spaces and line ends."""
    signs = {" ": "·", "\n": "↵", "\t": "⇥", "\r": "␍"}
    return "".join(signs.get(character, character if character.isprintable() else "▯") for character in text) or "∅"


def known(inspection: Inspection | None, token: int) -> InspectedToken | None:
    """What an inspection says about a token; None if it says nothing."""
    if inspection is None:
        return None
    try:
        return inspection.of(token)
    except KeyError:
        return None


def _emitted(event: Round) -> list[int]:
    ids = [token.id for token in event.drafted[: event.num_accepted]]
    return ids if event.token.id is None else [*ids, event.token.id]
