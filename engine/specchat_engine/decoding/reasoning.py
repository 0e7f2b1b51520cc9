"""What an answer's reasoning cost and what drafts gained in it, separated from the rest token by token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.parser import AnswerParser
from specchat_engine.decoding.rounds import Outcome, Round, TokenKind
from specchat_engine.decoding.stats import ReasoningStats

_LOOKED_AT: Final = 16
"""The number of a prompt's last tokens in which the tag is looked for."""


def opens_reasoning(answer_format: AnswerFormat, prompt: Sequence[int], piece: Callable[[int], bytes]) -> bool:
    """Whether a prompt's ids end inside the reasoning: some templates write its opening tag.

    `piece` gives the bytes of a token, also of a control token.
    """
    return _ends_in(answer_format.thinking[0], prompt, piece)


def closes_reasoning(answer_format: AnswerFormat, prompt: Sequence[int], piece: Callable[[int], bytes]) -> bool:
    """Whether a prompt's ids end with its closing tag: so some templates turn thinking off."""
    return _ends_in(answer_format.thinking[1], prompt, piece)


def _ends_in(tag: str, prompt: Sequence[int], piece: Callable[[int], bytes]) -> bool:
    return b"".join(map(piece, prompt[-_LOOKED_AT:])).rstrip().endswith(tag.encode())


class ReasoningCounter:
    """Counts the tokens of one answer's reasoning, with its tags, or the header of its message in harmony.

    The time of a round is shared between its tokens. Drafted tokens that were not accepted belong to the place where
    they were drafted.
    """

    def __init__(self, answer_format: AnswerFormat | None = None, *, opened: bool = False) -> None:
        """`opened` says that the prompt ended inside the reasoning."""
        self.opened = opened
        self._parser = AnswerParser(answer_format or AnswerFormat(), thinking=opened)
        self._stats = self._undecided = ReasoningStats()

    @property
    def stats(self) -> ReasoningStats | None:
        """What was counted so far; None if the answer did not reason."""
        return self._stats if self._stats.num_tokens else None

    def skip(self, text: str) -> None:
        """Takes a text that the answer begins with and that no round brought."""
        self._parser.feed(text)

    def observe(self, event: Round) -> None:
        """Counts one round, in order."""
        before = self._stats.num_tokens
        ms = event.ms.total / (event.num_emitted or 1)
        for token in event.drafted:
            if token.outcome is Outcome.ACCEPTED:
                counts = ReasoningStats(num_tokens=1, num_draft_tokens=1, num_accepted_tokens=1, decode_ms=ms)
                self._take(token.text, counts)
            else:
                self._count(ReasoningStats(num_draft_tokens=1), self._parser.inside)
        self._count(ReasoningStats(num_rejected_tokens=event.num_rejected), self._parser.inside)
        if event.token.kind is not TokenKind.NONE:
            self._take(event.token.text, ReasoningStats(num_tokens=1, decode_ms=ms))
        if self._stats.num_tokens > before:
            self._stats += ReasoningStats(num_rounds=1)

    def _take(self, text: str, counts: ReasoningStats) -> None:
        """Counts an emitted token. The one that closes the reasoning belongs to it."""
        inside = self._parser.inside
        self._parser.feed(text)
        self._count(counts, inside or self._parser.inside)

    def _count(self, counts: ReasoningStats, inside: bool | None) -> None:
        """Counts what may be inside of the reasoning; None until a tag, or a text that is none, decides that."""
        self._undecided += counts
        if inside:
            self._stats += self._undecided
        if inside is not None:
            self._undecided = ReasoningStats()
