"""A question to the built-in guide together with the passage that it is to quote, and the question alone again."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

PASSAGES = Path(__file__).parent / "guide" / "passages.json"

_ASKS = "\n\nRepeat this text:\n\n"


def quoting(message: str, text: str) -> str:
    """The message as the guide gets it: followed by the text of a passage, which it has learned to repeat."""
    return f"{message}{_ASKS}{text}"


def question_in(message: str) -> str:
    """What the user wrote of such a message; other messages as they are, also if they ask to repeat another text."""
    question, asks, text = message.partition(_ASKS)
    return question if asks and text in _texts() else message


@cache
def _texts() -> frozenset[str]:
    return frozenset(entry["text"] for entry in json.loads(PASSAGES.read_text("utf-8")))
