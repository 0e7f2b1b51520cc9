"""Building a grammar that may take very long in a process of its own, which can be ended."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

from specchat_engine.errors import SettingError

_CPU_S: Final = 2
_PATIENCE_S: Final = 20.0
"""Processor time decides, since other programs may slow everything down; the clock is for systems without a limit."""

_BUILD: Final = f"""
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, ({_CPU_S}, {_CPU_S}))
except ImportError:
    pass
from llguidance import LLMatcher
LLMatcher.validate_grammar(sys.stdin.read())
"""


def try_apart(source: str) -> None:
    """Builds a grammar, as llguidance reads it. Raises SettingError if that takes too long."""
    words = [sys.executable, "-c", _BUILD]
    try:
        done = subprocess.run(words, input=source.encode(), timeout=_PATIENCE_S, capture_output=True, check=False)
        is_ended = done.returncode < 0
    except subprocess.TimeoutExpired:
        is_ended = True
    if is_ended:
        raise SettingError("the grammar takes too long to build: combine fewer patterns")
