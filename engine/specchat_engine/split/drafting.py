"""The side of the draft model: it drafts, asks the target for its draws, and drafts on while the answer travels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

from specchat_engine.decoding.drafts import Context
from specchat_engine.drafters import ModelDrafter
from specchat_engine.prompt.encoding import common_prefix
from specchat_engine.split.draws import Draws, DrawsFor
from specchat_engine.split.length import QuestionLength


@dataclass(frozen=True, slots=True)
class SplitRound:
    """One question to the target: what was drafted for it, its draws, and how many drafted tokens were among them.

    `ahead` tokens were drafted while the answer travelled, of which the next question could use `useful`. Drafting
    before the question took `draft_ms`, and the answer came `asked_ms` after it.
    """

    drafted: tuple[int, ...]
    draws: Draws
    accepted: int
    ahead: int
    useful: int
    draft_ms: float
    asked_ms: float


def split_answer(
    drafter: ModelDrafter, context: Context, draws_for: DrawsFor, *, k: int | None, most: int, pipelined: bool = True
) -> Iterator[SplitRound]:
    """Extends the context by the target's draws until the answer ends. A question has k drafted tokens, at most `most`.

    Without k it is chosen for each question. The context has the prompt as the target reads it, and a sampler with the
    target's parameters and seed. `pipelined` drafts on until the answer arrives, in the hope that all drafted tokens
    are accepted. Raises what `draws_for` raises. The lossless rule is that of Daliri, Musco, Suresh, arXiv 2408.07978.
    """
    length = QuestionLength(most)
    with ThreadPoolExecutor(1, "split speculation") as asking:
        drafted: list[int] = []
        end: str | None = None
        while end is None:
            began, at_hand = perf_counter(), len(drafted)
            wanted = min(length.best if k is None else k, most)
            _draft(drafter, context, drafted, wanted)
            question = tuple(drafted[:wanted])
            sent = perf_counter()
            answer = asking.submit(draws_for, context.position, question)
            if pipelined:
                _draft(drafter, context, drafted, len(question) + 1 + most, until=answer)
            draws = answer.result()
            draft_ms, asked_ms = (sent - began) * 1000, (perf_counter() - sent) * 1000
            ahead = len(drafted) - len(question)
            accepted = common_prefix(question, draws.tokens)
            kept = common_prefix(drafted, draws.tokens)
            new = len(question) - at_hand
            length.observe(len(question), accepted, asked_ms, draft_ms / new if new > 0 else None)
            drafted = drafted[kept:] if kept == len(draws.tokens) else []
            context.tokens += draws.tokens
            end = draws.end
            yield SplitRound(question, draws, accepted, ahead, len(drafted), draft_ms, asked_ms)


def _draft(
    drafter: ModelDrafter, context: Context, drafted: list[int], most: int, until: Future[Draws] | None = None
) -> None:
    """Drafts after the context and the drafted tokens, up to so many or until an answer is there."""
    while len(drafted) < most and not (until and until.done()):
        hoped = Context([*context.tokens, *drafted], context.prompt_length, context.sampler, context.ends)
        if drafted and drafted[-1] in context.ends:
            return
        drafter.model.keep(hoped.tokens[:-1])
        found: Sequence[int] = drafter.propose(hoped, 1).tokens
        if not found:
            return
        drafted += found
