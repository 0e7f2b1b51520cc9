"""How many tokens to draft before the target is asked."""

from __future__ import annotations

from specchat_engine.analysis.theory import expected_tokens

_WEIGHT = 0.2
"""The weight of the latest question in what is expected of the next one."""

_ACCEPTED, _REJECTED = 7.0, 3.0
"""What was accepted and rejected before anything was."""


class QuestionLength:
    """The number of drafted tokens with the most tokens per millisecond, from what the questions so far took.

    A question takes the time of drafting k tokens and then the time until its answer is there, which hardly depends on
    k if the answer travels long.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._accepted, self._rejected = _ACCEPTED, _REJECTED
        self._step_ms = self._asked_ms = 0.0

    @property
    def best(self) -> int:
        """How many tokens to draft now: half of what is possible before the first question, and at least 1."""
        if not self._asked_ms:
            return max(1, self._most // 2)
        alpha = self._accepted / (self._accepted + self._rejected)
        return max(
            range(1, self._most + 1),
            key=lambda k: expected_tokens(alpha, k) / (k * self._step_ms + self._asked_ms),
        )

    def observe(self, drafted: int, accepted: int, step_ms: float, asked_ms: float) -> None:
        """Learns from a question: how many of its tokens were accepted, what drafting one took, and the answer."""
        self._accepted += accepted
        self._rejected += accepted < drafted
        weight = _WEIGHT if self._asked_ms else 1.0
        self._step_ms += weight * (step_ms - self._step_ms)
        self._asked_ms += weight * (asked_ms - self._asked_ms)
