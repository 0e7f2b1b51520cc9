"""How many tokens to draft before the target is asked."""

from __future__ import annotations

from specchat_engine.analysis.theory import expected_tokens

_FADE = 0.95
"""How much a question counts, compared with the next one."""

_ACCEPTED, _REJECTED = 7.0, 3.0
"""What was accepted and rejected before anything was."""


class QuestionLength:
    """The number of drafted tokens with the most tokens per millisecond, from what the questions so far took.

    A question takes the time of drafting k tokens, and then that until its answer is there: the way, the target's pass,
    and what each further token adds to it. The latter are the least squares of the latest questions.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._accepted, self._rejected = _ACCEPTED, _REJECTED
        self._step_ms = 0.0
        self._count = self._tokens = self._squares = self._ms = self._products = 0.0

    @property
    def best(self) -> int:
        """How many tokens to draft now: half of what is possible before the first question, and at least 1."""
        if not self._count:
            return max(1, self._most // 2)
        alpha = self._accepted / (self._accepted + self._rejected)
        way_ms, token_ms = self._asked_ms()
        return max(
            range(1, self._most + 1),
            key=lambda k: expected_tokens(alpha, k) / (way_ms + k * (self._step_ms + token_ms)),
        )

    def observe(self, drafted: int, accepted: int, asked_ms: float, step_ms: float | None) -> None:
        """Learns from a question: how many of its tokens were accepted, when the answer came, and what drafting one
        took, None if all had been drafted before."""
        self._accepted += accepted
        self._rejected += accepted < drafted
        if step_ms is not None:
            self._step_ms = step_ms if not self._step_ms else _FADE * self._step_ms + (1 - _FADE) * step_ms
        self._count = _FADE * self._count + 1
        self._tokens = _FADE * self._tokens + drafted
        self._squares = _FADE * self._squares + drafted * drafted
        self._ms = _FADE * self._ms + asked_ms
        self._products = _FADE * self._products + drafted * asked_ms

    def _asked_ms(self) -> tuple[float, float]:
        """The time of a question without drafted tokens, and that of each token in it."""
        spread = self._count * self._squares - self._tokens**2
        slope = (self._count * self._products - self._tokens * self._ms) / spread if spread > 1e-6 else 0.0
        usual = self._ms / self._count
        slope = min(max(slope, 0.0), usual / max(1.0, self._tokens / self._count))
        return max(usual - slope * self._tokens / self._count, 1e-3), slope
