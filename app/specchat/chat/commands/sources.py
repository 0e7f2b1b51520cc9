"""What the app knows that commands can name: the pair's limits, and lists that change while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from specchat_engine.settings import DRAFTERS

Names = Callable[[], Iterable[tuple[str, str]]]
"""Names, each with a few words about it, or with an empty text."""


def no_names() -> Iterable[tuple[str, str]]:
    """Nothing to choose from."""
    return ()


@dataclass(frozen=True, slots=True)
class Sources:
    """What completes arguments and what they are checked against. The lists are asked anew each time.

    `themes` and `presets` are complete: another name is refused, unless the list is empty. `sessions` and `models` are
    suggestions. A relative path starts from `folder`.
    """

    drafters: tuple[str, ...] = DRAFTERS
    k_max: int = 32
    sessions: Names = no_names
    models: Names = no_names
    themes: Names = no_names
    presets: Names = no_names
    folder: Path = field(default_factory=Path.cwd)
