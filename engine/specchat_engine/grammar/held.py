"""The grammar that an answer is held to, with what it takes to follow it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from specchat_engine.grammar.awaited import AwaitedGrammar, GrammarStart
from specchat_engine.grammar.constraint import Constraint, GrammarState, GrammarVocabulary


@dataclass(frozen=True, slots=True)
class HeldGrammar:
    """A grammar in any syntax that `source` reads; an answer without one is free, and the text is empty.

    It holds from the beginning of the answer, or from its `start` on. `shown` are control tokens that are part of the
    answer's text, with their bytes; the grammar may use them.
    """

    text: str = ""
    start: GrammarStart | None = None
    shown: Mapping[int, bytes] = field(default_factory=dict)

    def constraint(self, vocabulary: GrammarVocabulary) -> Constraint | None:
        """What constrains an answer, None if nothing does. Raises what `begin` raises."""
        place = self.begin(vocabulary)
        return Constraint(place) if place else None

    def begin(self, vocabulary: GrammarVocabulary) -> GrammarState | None:
        """The beginning of an answer, None without a grammar. One with a `start` is compiled when it begins.

        Raises SettingError for a grammar that cannot be used.
        """
        if not self.text:
            return None
        grammar = partial(vocabulary.compile_grammar, self.text, self.shown)
        return AwaitedGrammar(self.start, grammar, vocabulary, self.shown) if self.start else grammar()


FREE: Final = HeldGrammar()
"""No grammar."""
