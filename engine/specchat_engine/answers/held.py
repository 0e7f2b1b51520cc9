"""What an answer is held to: the grammar of the settings, or that of calls, and a limit for its thought.

The limit is a stage of sampling like a grammar, so drafts follow it and are judged by it in the same pass, and the text
does not depend on drafts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from specchat_engine.answers import harmony
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.grammar import after_reasoning, calls_start, can_choose_calls, tool_grammar
from specchat_engine.answers.parser import AnswerParser
from specchat_engine.grammar.constraint import GrammarState, GrammarVocabulary
from specchat_engine.grammar.held import HeldGrammar
from specchat_engine.prompt.encoding import Tokenizer, encode_text, shown_tokens
from specchat_engine.prompt.messages import Prompt
from specchat_engine.settings import Settings


def held_to(
    prompt: Prompt,
    settings: Settings,
    answer_format: AnswerFormat,
    vocabulary: Tokenizer,
    piece: Callable[[int], bytes],
    *,
    opened: bool,
    thinks: bool,
) -> HeldGrammar:
    """What an answer to this prompt is held to.

    Reasoning comes before a grammar if the prompt has `opened` it, and may come if the model `thinks` after it.
    The grammar of calls begins where a call does. If a call has to be made, it takes the place of the grammar of the
    settings; otherwise the model may call instead of following that one. `piece` gives the bytes of a token, also of a
    mark.
    """
    own = text = settings.sampling.grammar
    answer_format = replace(answer_format, thinks=thinks)
    shown, start = shown_tokens(prompt.shown, vocabulary), None
    if prompt.must_call:
        text = tool_grammar(answer_format, prompt.tools, thinking=opened, parallel=prompt.parallel_calls)
    elif prompt.tools and not text:
        start = calls_start(answer_format, thinking=opened)
        text = tool_grammar(answer_format, prompt.tools, parallel=prompt.parallel_calls) if start else ""
    elif text and prompt.raw is None:
        tools = prompt.tools if can_choose_calls(answer_format) else ()
        if tools or opened or thinks:
            text = after_reasoning(text, answer_format, tools, opened=opened, parallel=prompt.parallel_calls)
    marks = shown_tokens(answer_format.reasoning_marks, vocabulary)
    if text != own:
        shown |= marks
    if not settings.think_tokens:
        return HeldGrammar(text, start, shown)
    mark = answer_format.thinking[1]
    if answer_format.calls == "harmony":  # it could go on with another thought
        mark = f"{harmony.THOUGHTS[0][1]}{harmony.START}{harmony.FINAL}"
    return HeldThought(
        text,
        start,
        shown,
        tokens=settings.think_tokens,
        closing=encode_text(mark, vocabulary, piece, marks),
        parser=AnswerParser(answer_format, thinking=opened),
        piece=piece,
        opened=opened,
    )


def closed_thought(held: HeldGrammar, answer: Sequence[int]) -> str:
    """That the thought of an answer was closed at its limit, for the user; empty if it was not."""
    return held.notice(answer) if isinstance(held, HeldThought) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldThought(HeldGrammar):
    """A thought of at most this many `tokens` between its marks, beside a grammar if there is one.

    When the thought is that long, only the ids of the `closing` mark may follow, unless the grammar excludes them.
    `parser` is at the beginning of the answer, `piece` gives the bytes of a token, also of a mark, and `opened` says
    that the prompt has opened the thought.
    """

    tokens: int
    closing: Sequence[int]
    parser: AnswerParser
    piece: Callable[[int], bytes]
    opened: bool

    def begin(self, vocabulary: GrammarVocabulary) -> GrammarState:
        """The beginning of an answer. Raises SettingError for a grammar that cannot be used."""
        grammar = HeldGrammar.begin(self, vocabulary)
        return _ThoughtPlace(self, grammar, vocabulary.size, self.parser, self.tokens)

    def notice(self, answer: Sequence[int]) -> str:
        """That the thought of an answer was closed at its limit; empty if it was not."""
        parser, left = deepcopy(self.parser), self.tokens
        for token in answer:
            left -= self.counts(token, parser)
            if not left:
                return f"the thought was closed at its limit of {self.tokens} tokens (think-tokens)"
        return ""

    def counts(self, token: int, parser: AnswerParser) -> bool:
        """Has the parser read one more token, and returns whether that belongs to the thought."""
        before = parser.inside
        parser.feed(self.piece(token).decode("utf-8", "replace"))
        return before is True or (before is None and self.opened and parser.inside is True)


class _ThoughtPlace:
    """A place in an answer. `left` tokens of thought may still come, and `closed` tokens of its mark have come."""

    __slots__ = ("_closed", "_grammar", "_held", "_left", "_parser", "_size")

    def __init__(
        self,
        held: HeldThought,
        grammar: GrammarState | None,
        size: int,
        parser: AnswerParser,
        left: int,
        closed: int = 0,
    ) -> None:
        """`grammar` is the place in the grammar, and `size` that of the vocabulary."""
        self._held = held
        self._grammar = grammar
        self._size = size
        self._parser = parser
        self._left = left
        self._closed = closed

    def allows(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The next token of the mark alone once the limit is reached, else what the grammar allows."""
        due = self._due
        if due is None:
            return self._allowed(ids)
        only: NDArray[np.bool_] = ids == due
        return only

    def after(self, token: int) -> GrammarState | None:
        """The place after one more token, None if the grammar excludes it.

        A token that the limit excludes has a place, too: an answer may be given to begin with a longer thought.
        """
        grammar = self._grammar.after(token) if self._grammar else None
        if self._grammar and grammar is None:
            return None
        held, parser = self._held, deepcopy(self._parser)
        closed = (self._closed + 1) % len(held.closing) if token == self._due else 0
        return _ThoughtPlace(held, grammar, self._size, parser, self._left - held.counts(token, parser), closed)

    @property
    def forced(self) -> int | None:
        """The next token of the mark once the limit is reached, else what the grammar forces."""
        due = self._due
        return due if due is not None else self._grammar.forced if self._grammar else None

    @property
    def _due(self) -> int | None:
        """The token of the mark that has to come here, None if there is none or the grammar excludes it."""
        if not self._closed and (self._left > 0 or self._parser.inside is not True):
            return None
        token = self._held.closing[self._closed]
        return token if self._allowed(np.array([token]))[0] else None

    def _allowed(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        if self._grammar:
            return self._grammar.allows(ids)
        every: NDArray[np.bool_] = ids < self._size
        return every
