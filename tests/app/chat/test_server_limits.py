from __future__ import annotations

import pytest

from specchat.chat.commands.registry import parse
from specchat.chat.controller import Sources
from specchat.chat.server_limits import models_of
from specchat.engine_process.protocol import ServerInfo

VLLM = ServerInfo("vLLM", "host:8000", "org/b", "0.32.0", ("org/a", "org/b", "other/b", "b"))
SPECCHAT = ServerInfo("specchat", "host:8080", steered=True)


def refused(text: str, server: ServerInfo | None) -> str:
    given = parse(text, Sources())
    assert given is not None
    return given.refusal(server)


@pytest.mark.parametrize(
    "text", ["/step on", "/race", "/verify", "/learn", "/store", "/draft x", "/set ctx-size 512", "/draft"]
)
def test_what_needs_a_model_here_is_refused_in_one_sentence(text: str) -> None:
    for server in (VLLM, SPECCHAT):
        assert refused(text, server).endswith("needs a model on this machine: start specchat without --remote")
    assert refused(text, None) == ""


@pytest.mark.parametrize("text", ["/k 4", "/spec off", "/set verifier block", "/set drafter none"])
def test_drafting_is_refused_unless_requests_can_change_it(text: str) -> None:
    assert refused(text, VLLM) == "vLLM at host:8000 drafts as it was started: no request changes that"
    assert refused(text, SPECCHAT) == ""


def test_a_server_edits_messages_and_not_answers() -> None:
    assert refused("/edit", SPECCHAT) == ""
    assert "does not go on from an edited answer" in refused("/edit answer", SPECCHAT)


def test_everything_else_works() -> None:
    for text in ("/temp 0.5", "/set top-k 5", "/models", "/model x", "/regen", "/system x", "/export html", "/stats"):
        assert refused(text, VLLM) == ""


def test_the_models_are_listed_with_the_one_that_answers() -> None:
    assert models_of(VLLM).splitlines() == [
        "The models of vLLM at host:8000:",
        "  org/a",
        "• org/b",
        "  other/b",
        "  b",
        "/model NAME takes another one of them.",
    ]
    assert models_of(ServerInfo("vLLM", "h", "x", models=("x",))).count("\n") == 1
