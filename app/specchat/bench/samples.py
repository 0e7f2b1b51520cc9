"""What is known of one measured answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from specchat.bench.plan import Arm, Pair


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer under one arm; times in milliseconds.

    `wall_ms` runs from the prompt to the last token and includes what the target and the drafter spent on the prompt.
    `full_rounds` drafted exactly the arm's k, and `full_verify_ms` is the target's time in these. `text_hash` tells
    whether two answers have the same text.
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
        """What it shares with the other arms' answers to the same question."""
        return self.temperature, self.kind, self.prompt, self.repeat

    @property
    def decode_ms(self) -> float:
        """The time of decoding, without the prompt."""
        return self.draft_ms + self.verify_ms + self.rollback_ms + self.other_ms

    @property
    def decoding_speed(self) -> float | None:
        """Tokens a second of decoding; None where there were none."""
        return self.num_tokens / self.decode_ms * 1000 if self.num_tokens and self.decode_ms > 0 else None

    @property
    def end_to_end_speed(self) -> float | None:
        """Tokens a second from the prompt to the last token; None where there were none."""
        return self.num_tokens / self.wall_ms * 1000 if self.num_tokens and self.wall_ms > 0 else None

    def to_json(self) -> dict[str, Any]:
        """The sample as it stands in the document."""
        return asdict(self) | {"arm": str(self.arm)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Reads what `to_json` wrote. Raises KeyError, TypeError, AttributeError or SettingError for anything else."""
        known = {field.name: values[field.name] for field in fields(cls)}
        return cls(**known | {"arm": Arm.parse(values["arm"])})
