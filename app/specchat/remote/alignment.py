"""Which of the tokens that arrived together belong to which draft, from what a server reports at the end of an answer.

A server sends the tokens of a step together, or those of several steps if the reader is slow. At the end it reports how
many tokens each step had drafted and how many of them were accepted, but not which steps had no draft.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specchat.remote.chunks import Drafting


@dataclass(frozen=True, slots=True)
class ServerStep:
    """One step of a server: `emitted` tokens, of which `accepted` were drafted. A plain one has no draft."""

    emitted: int
    drafted: int = 0
    accepted: int = 0


def steps_of(groups: Sequence[int], drafting: Drafting) -> list[list[ServerStep]] | None:
    """The steps of each group of tokens, by their numbers of tokens; None if that does not add up.

    The first token comes from reading the prompt, without a draft. Where a server does not report which one-token
    steps had a draft, the first ones did.
    """
    reported = _reported_drafts(drafting)
    drafts = _following(groups, drafting) if reported is None else reported
    if drafts is None:
        return None
    waiting = [ServerStep(accepted + 1, drafted, accepted) for drafted, accepted in drafts]
    waiting.reverse()
    steps = [
        [*_filled(number, waiting, first=index == 0, last=index == len(groups) - 1)]
        for index, number in enumerate(groups)
    ]
    return None if waiting else steps


def _filled(number: int, waiting: list[ServerStep], *, first: bool, last: bool) -> Iterator[ServerStep]:
    """Steps that emit so many tokens: each waiting draft as early as it fits, plain steps between them.

    No later place of a draft leaves more room for those after it. The end of an answer may cut the last draft.
    """
    left = number
    if first and left:
        yield ServerStep(1)
        left -= 1
    while left:
        step = ServerStep(1)
        if waiting and waiting[-1].emitted <= left:
            step = waiting.pop()
        elif last and len(waiting) == 1:
            draft = waiting.pop()
            step = ServerStep(left, draft.drafted, draft.accepted)
        yield step
        left -= step.emitted


def _reported_drafts(drafting: Drafting) -> list[tuple[int, int]] | None:
    """The drafted and accepted tokens of each draft, as the server reported them."""
    if drafting.num_drafts == 0:
        return []
    if drafting.drafted is None or drafting.accepted is None:
        return None
    return [*zip(drafting.drafted, drafting.accepted, strict=True)]


def _following(groups: Sequence[int], drafting: Drafting) -> list[tuple[int, int]] | None:
    """The same as it follows from totals, if every step after the first token arrived alone.

    Steps of several tokens had a draft, and so had the first of the others, as many as there were drafts. The last step
    had one, too, if more tokens were accepted than the answer has.
    """
    steps = groups[1:]
    beyond = drafting.num_accepted - sum(number - 1 for number in steps)
    drafts = [number > 1 for number in steps]
    if not steps or min(steps) < 1 or beyond < 0:
        return None
    drafts[-1] = drafts[-1] or beyond > 0
    in_vain = [index for index, had in enumerate(drafts) if not had][: max(drafting.num_drafts - sum(drafts), 0)]
    for index in in_vain:
        drafts[index] = True
    if sum(drafts) != drafting.num_drafts:
        return None
    accepted = [number - 1 for number, had in zip(steps, drafts, strict=True) if had]
    accepted[-1] += beyond
    drafted = _lengths(len(accepted), drafting)
    return [*zip(drafted, accepted, strict=True)] if drafted and all(map(int.__le__, accepted, drafted)) else None


def _lengths(number: int, drafting: Drafting) -> list[int] | None:
    """The tokens of each of so many drafts, if all are as long as the longest or only the last is shorter."""
    last = drafting.num_drafted - drafting.longest * (number - 1)
    return [*[drafting.longest] * (number - 1), last] if 0 < last <= drafting.longest else None
