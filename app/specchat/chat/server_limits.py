"""What cannot be done while a server answers, in sentences."""

from __future__ import annotations

from specchat.engine_process.protocol import ServerInfo

STEP_MODE = "stepping through rounds"
INSPECTION = "looking closer at a token"
COMPARISON = "comparing with plain decoding"
LOADING = "choosing how models are loaded"
DRAFTS = "choosing a draft model"


def drafts_by_itself(server: ServerInfo) -> str:
    """Why a request cannot say how to draft."""
    return f"{server.name} drafts as it was started: no request changes that"


def learns_nothing(server: ServerInfo) -> str:
    """Why there is nothing to show of what a draft model has learned."""
    return (
        f"Only draft models on this machine learn. {server.name} answers this chat, and nothing is recorded for "
        "learning: start specchat without --remote."
    )


def models_of(server: ServerInfo) -> str:
    """The server's models, one a line, with the one that answers."""
    lines = [f"The models of {server.name}:"]
    lines += [f"{'•' if name == server.model else ' '} {name}" for name in server.models]
    return "\n".join([*lines, "/model NAME takes another one of them."] if len(server.models) > 1 else lines)
