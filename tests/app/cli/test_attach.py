"""`chat --attach` on the command line."""

from __future__ import annotations

from typing import Any

import pytest

from app.watching.samples import MODELS, end, made, start, state
from specchat.cli import main
from specchat.settings.server import Serving
from support.llama_servers import free_port
from support.replaying import Reply, page, replaying, stream
from support.scripted_server import ScriptedEngine, on_loopback, scripted_app

WATCH = "/v1/watch"


class OnceWatched(dict[str, Reply]):
    """Pages of a server that lets itself be watched once."""

    def get(self, path: str, default: Any = None) -> Any:
        reply = super().get(path, default)
        if path == WATCH:
            self[WATCH] = page({"error": {"message": "watching is off here", "code": "watching_off"}}, 403)
        return reply


def line_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The only line that was printed."""
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["-m", "a.gguf"], "--model has no effect"),
        (["--draft", "a.gguf"], "--draft has no effect"),
        (["--temp", "0.5"], "--temp has no effect"),
        (["-c", "512"], "--ctx-size has no effect"),
        (["--remote", "host:1"], "--remote has no effect"),
        (["--remote-model", "x"], "--remote-model has no effect"),
        (["--resume"], "--resume has no effect"),
    ],
)
def test_a_flag_that_means_nothing_to_a_watcher_is_one_line(
    words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["chat", "--attach", "host:1", *words]) == 2
    line = line_of(capsys)
    assert named in line
    assert "omit one" in line


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://user:secret@host", "host:99999"])
def test_what_is_no_address_is_one_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chat", "--plain", "--attach", url]) == 2
    assert line_of(capsys).startswith("specchat: --attach ")


def test_without_a_terminal_it_needs_plain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chat", "--attach", "host:1"]) == 2
    assert "--plain" in line_of(capsys)


def test_a_server_that_is_not_there_refuses_or_wants_a_key_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chat", "--plain", "--attach", f"localhost:{free_port()}"]) == 1
    assert "cannot be reached" in line_of(capsys)
    with on_loopback(scripted_app(ScriptedEngine())) as url:
        assert main(["chat", "--plain", "--attach", url]) == 1
        assert "`specchat serve --watch on` allows it" in line_of(capsys)
    with on_loopback(scripted_app(ScriptedEngine(), Serving(watch="on", api_key=("secret",)))) as url:
        assert main(["chat", "--plain", "--attach", url]) == 1
        assert "wants a key (401" in line_of(capsys)


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
