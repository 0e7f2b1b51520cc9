"""Work that may take very long, in a process of its own, which can be ended."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

from specchat_engine.errors import SettingError

_CPU_S: Final = 2
_PATIENCE_S: Final = 120.0
"""Processor time decides, since other programs may slow everything down; the clock is for systems without a limit."""

_LIMIT: Final = f"""
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, ({_CPU_S}, {_CPU_S}))
except ImportError:
    pass
"""
_BUILD: Final = "from llguidance import LLMatcher; LLMatcher.validate_grammar(sys.stdin.read())"


def run_apart(program: str, given: str) -> str | None:
    """What a Python program, which has `sys`, prints after reading this; None if it fails or takes too long."""
    words = [sys.executable, "-c", _LIMIT + program]
    try:
        done = subprocess.run(words, input=given.encode(), timeout=_PATIENCE_S, capture_output=True, check=False)
    except subprocess.TimeoutExpired:
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace")


def try_apart(source: str) -> None:
    """Builds a grammar, as llguidance reads it. Raises SettingError if that takes too long."""
    if run_apart(_BUILD, source) is None:
        raise SettingError("the grammar takes too long to build: combine fewer patterns")
