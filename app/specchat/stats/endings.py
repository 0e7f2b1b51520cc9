"""How an answer ended, in words: under it, in a stored conversation and in exports; empty where it ended by itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from specchat.store.records import State

STOPPED = "stopped"


_BY_REASON: Mapping[str | None, str] = MappingProxyType(
    {
        "cancelled": STOPPED,
        "length": "max tokens",
        "context": "context full",
        "error": "the answer broke off",
        None: "recording cut short",
    }
)
_BY_STATE: Mapping[State, str] = MappingProxyType(
    {
        State.CUT: "cut off: specchat ended while this was written",
        State.STREAMING: "being written by another specchat",
        State.STOPPED: STOPPED,
    }
)


def ending(reason: str | None) -> str:
    """What the reason on a turn's last line means; None is a recording without that line."""
    return _BY_REASON.get(reason, "")


def ending_in(state: State) -> str:
    """What is known of an answer without figures."""
    return _BY_STATE.get(state, "")


def with_ending(reason: str | None, *figures: str) -> str:
    """A line of figures behind how the answer ended."""
    return " · ".join(part for part in (ending(reason), *figures) if part)
