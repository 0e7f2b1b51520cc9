"""The rule for drafted tokens in words: silent about the usual one, and always saying where one is lossy."""

from __future__ import annotations

from specchat.settings.options import DEFAULT_VERIFIER

LOSSY_SIGN = "≈"
"""Stands before a lossy rule, so that colour is never the only sign."""


def rule_label(verifier: str, *, lossless: bool) -> str:
    """What a line of figures says of the rule: `rejection`, `≈ typical (lossy)`, nothing for the default one."""
    if not lossless:
        return f"{LOSSY_SIGN} {verifier} (lossy)"
    return "" if verifier == DEFAULT_VERIFIER else verifier
