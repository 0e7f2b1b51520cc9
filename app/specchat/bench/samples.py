"""One measured answer, sums over answers, what theory predicts from them, and a gain in words.

It needs no numpy, which the interface does not load.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from specchat.bench.plan import Arm, Pair
from specchat_engine.analysis.theory import break_even_alpha, expected_tokens, predicted_speedup
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.settings import HEADS


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median or mean, its quartiles (None for a mean over kinds), and its bootstrap 95 % interval (None for a single
    pair)."""

    value: float
    quartiles: tuple[float, float] | None
    interval: tuple[float, float] | None
    pairs: int

    @property
    def is_gain(self) -> bool:
        """True if the ratio is above 1 by more than chance."""
        return self.interval is not None and self.interval[0] > 1

    @property
    def words(self) -> str:
        """The ratio and its interval: `1.32 × plain (95 % 1.21 to 1.40)`."""
        interval = f" (95 % {self.interval[0]:.2f} to {self.interval[1]:.2f})" if self.interval else ""
        return f"{self.value:.2f} × plain{interval}"


@dataclass(frozen=True, slots=True)
class Gain:
    """Speed over plain decoding, prompts included, and both speeds in tokens per second.

    `alpha` is None if nothing was compared.
    """

    speedup: Estimate
    tokens_per_second: float
    plain_tokens_per_second: float
    alpha: float | None

    @property
    def words(self) -> str:
        """In one line: `1.42 × plain (95 % 1.21 to 1.60), 55.1 tokens/s`."""
        return f"{self.speedup.words}, {self.tokens_per_second:.1f} tokens/s"


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer under one arm; times in milliseconds.

    `wall_ms` runs from the prompt to the last token and includes the time that the target and the drafter spent on the
    prompt. `full_rounds` counts the rounds that drafted exactly the arm's k; `full_verify_ms` is the target's time in
    them. Answers with the same text have the same `text_hash`.
    """

    arm: Arm
    temperature: float
    kind: str
    prompt: int
    repeat: int
    prompt_tokens: int
    num_tokens: int
    num_rounds: int
    num_draft_tokens: int
    num_accepted_tokens: int
    num_rejected_tokens: int
    full_rounds: int
    full_verify_ms: float
    prompt_ms: float
    draft_prompt_ms: float
    ttft_ms: float
    draft_ms: float
    verify_ms: float
    rollback_ms: float
    other_ms: float
    wall_ms: float
    text_hash: str

    @property
    def pair(self) -> Pair:
        """What this answer shares with the other arms' answers to the same prompt."""
        return self.temperature, self.kind, self.prompt, self.repeat

    @property
    def decode_ms(self) -> float:
        """The time of decoding, without the prompt."""
        return self.draft_ms + self.verify_ms + self.rollback_ms + self.other_ms

    @property
    def decoding_speed(self) -> float | None:
        """Tokens per second of decoding; None without tokens."""
        return self.num_tokens / self.decode_ms * 1000 if self.num_tokens and self.decode_ms > 0 else None

    @property
    def end_to_end_speed(self) -> float | None:
        """Tokens per second from the prompt to the last token; None without tokens."""
        return self.num_tokens / self.wall_ms * 1000 if self.num_tokens and self.wall_ms > 0 else None


SUMMED = (
    "num_tokens",
    "num_rounds",
    "num_draft_tokens",
    "num_accepted_tokens",
    "num_rejected_tokens",
    "draft_ms",
    "verify_ms",
    "rollback_ms",
    "other_ms",
)

COUNTED = (*SUMMED, "prompt_tokens", "prompt_ms", "draft_prompt_ms", "ttft_ms", "wall_ms")
"""What a sample has of the statistics of its answer."""


def summed(samples: Iterable[Sample]) -> TurnStats:
    """The counters and times of several answers together."""
    samples = [*samples]
    return TurnStats(**{name: sum(getattr(sample, name) for sample in samples) for name in SUMMED})


@dataclass(frozen=True, slots=True)
class Prediction:
    """The measured c and C(k+1)/C(1), E(α, k), the speed-up that follows, and the break-even α.

    `break_even` is None if no α gives a speed-up.
    """

    draft_cost: float
    relative_cost: float
    expected_tokens: float
    speedup: float
    break_even: float | None


def predict(arm: Arm, taken: Iterable[Sample], plain: Iterable[Sample]) -> Prediction | None:
    """The speed-up of decoding predicted from the arm's α and costs. `plain` are the plain answers to the same prompts.

    None unless the arm is a draft model or a head with a fixed k, or if something was not measured.
    """
    if arm.drafter not in ("model", *HEADS) or not isinstance(arm.k, int):
        return None
    taken, plain = [*taken], [*plain]
    drafted, undrafted = summed(taken), summed(plain)
    alpha, full_rounds = drafted.alpha, sum(sample.full_rounds for sample in taken)
    if alpha is None or not full_rounds or undrafted.verify_ms <= 0:
        return None
    plain_ms = undrafted.verify_ms / undrafted.num_rounds
    c = drafted.draft_ms / drafted.num_draft_tokens / plain_ms
    relative_cost = sum(sample.full_verify_ms for sample in taken) / full_rounds / plain_ms
    return Prediction(
        draft_cost=c,
        relative_cost=relative_cost,
        expected_tokens=expected_tokens(alpha, arm.k),
        speedup=predicted_speedup(alpha, arm.k, c, relative_cost),
        break_even=break_even_alpha(arm.k, c, relative_cost),
    )
