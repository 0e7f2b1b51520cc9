"""`chat --attach` on the command line."""

from __future__ import annotations

from typing import Any

import pytest

from app.cli.conftest import Complaint
from app.watching.samples import MODELS, end, made, start, state
from specchat.cli import main
from support.llama_servers import free_port
from support.replaying import Reply, page, replaying, stream

WATCH = "/v1/watch"


class OnceWatched(dict[str, Reply]):
    """Pages of a server that lets itself be watched once."""

    def get(self, path: str, default: Any = None) -> Any:
        reply = super().get(path, default)
        if path == WATCH:
            self[WATCH] = page({"error": {"message": "watching is off here", "code": "watching_off"}}, 403)
        return reply


def test_a_server_that_is_not_there_is_one_line(complaint: Complaint) -> None:
    assert "cannot be reached" in complaint("chat", "--plain", "--attach", f"localhost:{free_port()}", code=1)


def test_plainly_it_prints_answers_until_the_server_refuses(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECCHAT_API_KEY", "sk-secret")
    lines = stream(state(), start(1, "Who?"), made(1, 0, "ab"), end(1, "ab"), end=False)
    with replaying(pages=OnceWatched({"/v1/models": MODELS, WATCH: lines})) as server:
        assert main(["chat", "--plain", "--attach", server.url]) == 1
        sent = {one.headers["Authorization"] for one in server.asked}
    captured = capsys.readouterr()
    assert captured.out == "ab\n"
    assert "Request 1: Who?" in captured.err
    assert "watching is off here" in captured.err.splitlines()[-1]
    assert "sk-secret" not in captured.err
    assert sent == {"Bearer sk-secret"}
