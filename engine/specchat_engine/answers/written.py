"""What is written around the arguments of a call, for the grammars that require calls."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from specchat_engine.grammar.json_schema import JSON, Writing, literal

_TAG: Final = re.compile(r"<[^<>\n]+>|\[[A-Z_]+\]")

Pieces = tuple[str, ...]
"""Literal texts, with a rule between each two. `%(name)s` in a text is a name, `%(json)s` the same name as JSON."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is written around a parameter that has tags of its own; `closes` ends its value."""

    opens: Pieces
    around: str
    closes: str
    after: Pieces


@dataclass(frozen=True, slots=True)
class Written:
    """What is written around the arguments of a call, and around and between all calls.

    The arguments are an object in the notation of `values`, or `parameters` with tags.
    """

    head: Pieces
    tail: Pieces = ()
    between: str = ""
    begin: str = ""
    end: str = ""
    values: Writing = JSON
    parameters: Parameters | None = None

    @property
    def mark(self) -> str:
        """The tag that begins the calls; empty if only their content tells them from other text."""
        tag = _TAG.match(self.begin + self.head[0] if self.head else self.begin)
        return tag[0] if tag else ""


def rule_of(pieces: Pieces, name: str) -> str:
    """The rule for these pieces with a name."""
    names = {"name": name, "json": json.dumps(name, ensure_ascii=False)}
    return " ".join(piece if place % 2 else literal(piece % names) for place, piece in enumerate(pieces) if piece)
