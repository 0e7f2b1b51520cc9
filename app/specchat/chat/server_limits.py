"""What cannot be done while a server answers: one sentence for each command that needs a model on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from specchat.chat.commands import invocations as asked
from specchat.remote.limits import CANNOT_CONTINUE, needs_this_machine
from specchat.settings.setting import Group
from specchat.worker.protocol import ServerInfo

STEP_MODE = "stepping through rounds"
INSPECTION = "looking closer at a token"
COMPARISON = "comparing with plain decoding"
LOADING = "choosing how models are loaded"
DRAFTS = "choosing a draft model"

_NEEDS: Mapping[type[asked.Invocation], str] = MappingProxyType(
    {
        asked.Reload: LOADING,
        asked.LoadDraft: DRAFTS,
        asked.UseStore: "drafting from texts on this machine",
        asked.Learn: "learning from chats",
        asked.StepMode: STEP_MODE,
        asked.Race: "racing against plain decoding",
        asked.Verify: COMPARISON,
        asked.Tour: "the tour",
    }
)


def refused(invocation: asked.Invocation, server: ServerInfo | None) -> str:
    """Why a command cannot be done with this server; empty if it can, or if there is no server."""
    if server is None:
        return ""
    if isinstance(invocation, asked.EditAnswer):
        return CANNOT_CONTINUE
    if isinstance(invocation, asked.ShowModels) and invocation.role == "draft":
        return needs_this_machine(DRAFTS)
    drafting = isinstance(invocation, asked.Change) and invocation.knob.setting.group is Group.DRAFTING
    if (drafting or isinstance(invocation, asked.Speculate)) and not server.steered:
        return drafts_by_itself(server)
    what = _NEEDS.get(type(invocation))
    return "" if what is None else needs_this_machine(what)


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
