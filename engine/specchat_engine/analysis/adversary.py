"""A drafter that knows the answer and spoils it where a wrong rule is most likely to be taken in."""

from __future__ import annotations

from specchat_engine.analysis.recording import Recording
from specchat_engine.decoding.drafts import Context, Draft, Drafter
from specchat_engine.decoding.verification import ProposalLaw
from specchat_engine.models import SessionVocabulary
from specchat_engine.sampling.noise import uniform


class Adversary(Drafter):
    """Drafts the plain answer that it was given, with one wrong token in most drafts.

    The wrong one is the likeliest token that the target did not take, if possible one that is likelier than the token
    that it took. So the target must accept and reject at every place of a draft, much more often than good drafts ask
    it to. Any drafter may propose that: it is a function of the position alone.
    """

    name = "adversary"
    law: ProposalLaw = "point"

    def __init__(self) -> None:
        self._answer: tuple[int, ...] = ()
        self._others: tuple[int, ...] = ()
        self._tempting: frozenset[int] = frozenset()

    def made(self, _vocabulary: SessionVocabulary, /) -> Adversary:
        """Itself, for `Engine.load`."""
        return self

    def know(self, plain: Recording) -> None:
        """Takes the plain answer that the next drafts are about."""
        self._answer = plain.tokens
        self._others = tuple(each.other for each in plain.passes)
        self._tempting = frozenset(position for position, each in enumerate(plain.passes) if each.tempting)

    def propose(self, context: Context, k: int) -> Draft:
        """The answer's next tokens, one of them wrong unless all are to be right."""
        start = context.position
        tokens = list(self._answer[start : start + k])
        wrong = next((offset for offset in range(len(tokens)) if start + offset in self._tempting), None)
        if wrong is None:
            wrong = int(uniform(len(self._answer), start) * (len(tokens) + 1))
        if wrong < len(tokens) and self._others[start + wrong] >= 0:
            tokens[wrong] = self._others[start + wrong]
        return Draft(tuple(tokens))
