"""What only an engine on this machine can do, in sentences."""

from __future__ import annotations

CANNOT_BRANCH = "an answer of a server cannot branch from a token: edit the message, or ask again with /regen"
CANNOT_CONTINUE = "a server does not go on from an edited answer: edit the message, or ask again with /regen"
CANNOT_KEEP = "a server keeps its own prompt cache"


def needs_this_machine(what: str) -> str:
    """Why something cannot be done: `inspecting a position needs a model on this machine: …`."""
    return f"{what} needs a model on this machine: start specchat without --remote"
