"""An exercise of the held-out set, which no template of the corpus can make."""

from __future__ import annotations

from dataclasses import dataclass

from builtin_pair.chats import Kind


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A prompt and the expected answer: the only right one for copies, an example for stories."""

    kind: Kind
    prompt: str
    expected: str
