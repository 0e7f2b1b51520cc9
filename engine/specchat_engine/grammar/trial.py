"""Building a grammar that may take very long in a process of its own, which can be ended."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

from specchat_engine.errors import SettingError

_PATIENCE_S: Final = 1.5
_BUILD: Final = "import sys; from llguidance import LLMatcher; LLMatcher.validate_grammar(sys.stdin.read())"


def try_apart(source: str) -> None:
    """Builds a grammar, as llguidance reads it. Raises SettingError if that takes too long."""
    try:
        subprocess.run(
            [sys.executable, "-c", _BUILD], input=source.encode(), timeout=_PATIENCE_S, capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        raise SettingError("the grammar takes too long to build: combine fewer patterns") from None
