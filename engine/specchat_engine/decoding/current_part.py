"""Which part of its answer a model is writing: the rule that verifies its drafts depends on that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace

from specchat_engine.answers.parser import AnswerParser
from specchat_engine.decoding.generate import Plan
from specchat_engine.decoding.verification import Chance, Rows, Verdict, Verifier
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.settings import AUTO, Settings


class CurrentPart:
    """Follows one answer in token ids.

    The rule is chosen for each round. A round that begins inside the thought ends with the token that closes it, so
    that no token of the answer is judged by the rule of the thought.
    """

    def __init__(self, parser: AnswerParser, piece: Callable[[int], bytes]) -> None:
        """`parser` is at the beginning of the answer. `piece` gives the bytes of a token, also of a control token that
        the parser looks for."""
        self._parser = parser
        self._piece = piece
        self._seen = 0
        self._relaxed: tuple[Settings, Settings] | None = None

    @property
    def is_thought(self) -> bool:
        """Whether the next token belongs to the thought. False until that is certain."""
        return self._parser.inside is True

    def follow(self, answer: Sequence[int]) -> None:
        """Reads what the answer has more than the last time."""
        for token in answer[self._seen :]:
            self._parser.feed(self._text(token))
        self._seen = len(answer)

    def settings(self, settings: Settings) -> Settings:
        """The settings of the next round: those of the answer, inside the thought with the rule of the thought.

        The same settings give the same object. A rule that cannot judge trees gets none.
        """
        if not self.is_thought:
            return settings
        if self._relaxed is None or self._relaxed[0] is not settings:
            self._relaxed = settings, replace(settings, verifier=settings.thought_verifier, tree=AUTO)
        return self._relaxed[1]

    def bounded(self, plan: Plan) -> Plan:
        """The plan of a round inside the thought, whose rule judges nothing after the token that closes it."""
        return replace(plan, verifier=_up_to(plan.verifier, self._length_in)) if plan.drafter else plan

    def _length_in(self, drafted: Sequence[int]) -> int:
        """How many of the drafted tokens belong to the thought, with the one that closes it."""
        parser = deepcopy(self._parser)
        for place, token in enumerate(drafted):
            parser.feed(self._text(token))
            if parser.inside is not True:
                return place + 1
        return len(drafted)

    def _text(self, token: int) -> str:
        """The text of a token by itself. All tags are whole characters, so that parts of characters do no harm."""
        return self._piece(token).decode("utf-8", "replace")


def _up_to(verifier: Verifier, length: Callable[[Sequence[int]], int]) -> Verifier:
    """The same rule for the first tokens of a draft alone. If they stand, the target's own token follows them."""

    def decide(drafted: Sequence[int], rows: Rows, proposals: Sequence[Candidates], chance: Chance) -> Verdict:
        judged = length(drafted)
        return verifier.decide(drafted[:judged], rows, proposals[:judged], chance)

    return replace(verifier, decide=decide)
