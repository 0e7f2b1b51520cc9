"""From the trace of an answer to what its explanations need."""

from __future__ import annotations

from collections.abc import Mapping

from specchat.stats.figures.figure import Explanation
from specchat.stats.kinds import ContentKind, kinds_of
from specchat.stats.tokens import Decided, explain_round
from specchat.stats.turn import TurnView
from specchat.traces.trace import Trace
from specchat_engine.answers.thoughts import closes_unopened_thinking
from specchat_engine.load_options import MemoryUse


def view_of(trace: Trace, memory: MemoryUse | None = None) -> TurnView:
    """The figures of an answer; `memory` is what its models take."""
    return TurnView.of(trace.rounds, trace.stats, memory, verifier=str(trace.start.get("verifier") or ""))


def explained_round(trace: Trace, index: int, removed: Mapping[int, str]) -> list[Explanation]:
    """The explanations of the tokens of round `index`, the target's own last.

    `removed` has, by token id, the sampling stage that removed a token from the target's candidates.
    """
    temperature = trace.start.get("params", {}).get("temperature")
    event = trace.rounds[index]
    decided = Decided(event.verifier or str(trace.start.get("verifier") or ""), temperature, removed)
    before = sum(event.num_emitted for event in trace.rounds[:index])
    return explain_round(event, decided, in_thought(trace)[before : before + event.num_emitted])


def in_thought(trace: Trace) -> tuple[bool, ...]:
    """Whether each token of the answer begins inside the model's thought. Given tokens are left out."""
    texts = [trace.given, *(token.text for event in trace.rounds for token in event.emitted)]
    opened = bool(trace.start.get("opens_reasoning")) or closes_unopened_thinking("".join(texts))
    return tuple(kind is ContentKind.THINKING for kind in kinds_of(texts, thinking=opened)[1:])
