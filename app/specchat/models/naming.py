"""Models as the user knows them: a name and a size."""

from __future__ import annotations

import re
from typing import Protocol

from specchat.terminal.filter import clean_line

_SIZE = re.compile(r"(?<![\w.])\d+(\.\d+)?[MB]\b", re.IGNORECASE)
"""A number of parameters in a model's name."""


class Named(Protocol):
    """A loaded model, wherever its description comes from."""

    @property
    def name(self) -> str:
        """What its file calls it."""

    @property
    def n_params(self) -> int:
        """How many parameters it has, 0 where that is not known."""


def pair_name(target: Named, draft: Named | None) -> str:
    """Both models with their sizes: `guide 18M ⇠ draft 2M`."""
    return model_name(target) if draft is None else f"{model_name(target)} ⇠ {model_name(draft)}"


def model_name(model: Named) -> str:
    """A model's name and size: `guide 18M`; the size only once where the name tells it already."""
    name = clean_line(model.name)
    if _SIZE.search(name):
        return name
    for unit, scale in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if model.n_params >= scale:
            size = model.n_params / scale
            return f"{name} {size:.1f}{unit}" if unit == "B" and size < 10 else f"{name} {size:.0f}{unit}"
    return name
