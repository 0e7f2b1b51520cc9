"""Events of a stream, as bytes of Server-Sent Events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

DONE: Final = b"data: [DONE]\n\n"
"""The last event of a stream of OpenAI's two older APIs."""


def event(data: Mapping[str, Any], name: str = "") -> bytes:
    """One event with JSON, and a name if the API gives events names."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return f"event: {name}\ndata: {text}\n\n".encode() if name else f"data: {text}\n\n".encode()
