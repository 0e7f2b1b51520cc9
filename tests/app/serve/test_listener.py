"""The server's address."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import threading
from contextlib import ExitStack
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from specchat.errors import ConfigError
from specchat.serve import listener
from specchat.serve.listener import address_of, listen, most_connections, serve_until_signalled
from support.scripted_server import Script, ScriptedEngine, made_round, on_loopback, scripted_app


def test_port_zero_is_any_free_port() -> None:
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        assert port
        assert address_of(listening) == f"http://127.0.0.1:{port}"
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            connection, _ = listening.accept()
            with connection:
                assert connection.proto == socket.IPPROTO_TCP, "asyncio sends each event at once on such sockets only"


def test_a_port_in_use_is_one_line_with_the_remedy() -> None:
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"cannot listen on .127.0.0.1., port {port}: .* use another --port"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "", "256.1.1.1", "a" * 300, "198.51.100.7"])
def test_an_address_that_cannot_be_had_is_one_line(host: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot listen on .* use another --host"):
        listen(host, 0)


def test_every_address_is_shown_as_one_that_can_be_opened() -> None:
    with listen("0.0.0.0", 0) as listening:
        assert address_of(listening).startswith("http://localhost:")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_from_the_moment_its_address_is_said(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with listen("127.0.0.1", 0) as listening:
        serving = serve_until_signalled(scripted_app(ScriptedEngine()), listening, lambda: signal.raise_signal(number))
        assert await asyncio.wait_for(serving, 600) == number
    assert signal.getsignal(number) == before


def connected(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=600)


def healthy(url: str) -> bool:
    with urlopen(f"{url}/health", timeout=600) as response:
        return bool(response.status == 200)


def test_connections_without_a_request_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "most_connections", lambda: 3)
    monkeypatch.setattr(listener, "FIRST_S", 600)
    with on_loopback(scripted_app(ScriptedEngine())) as url, ExitStack() as opened:
        idle = [opened.enter_context(connected(url)) for _ in range(5)]
        assert healthy(url)
        assert [connection.recv(1) for connection in idle[:2]] == [b"", b""], "the oldest were closed"


def test_a_connection_whose_answer_runs_makes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ScriptedEngine([Script([made_round(0, (), "Hi")], waits_at=1)])
    monkeypatch.setattr(listener, "most_connections", lambda: 2)
    with on_loopback(scripted_app(engine)) as url, ExitStack() as opened:
        answer = asking(url, stream=True)
        assert engine.started.wait(600)
        idle = [opened.enter_context(connected(url)) for _ in range(3)]
        assert healthy(url)
        assert idle[0].recv(1) == b""
        assert not engine.left
    answer.join()


def test_a_new_connection_has_a_while_for_its_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "FIRST_S", 2.0)
    engine = ScriptedEngine([Script([made_round(0, (), "Hi")], waits_at=1)])
    with on_loopback(scripted_app(engine)) as url:
        answer = asking(url)
        assert engine.started.wait(600)
        with connected(url) as silent:
            assert silent.recv(1) == b""
        with connected(url) as slow:
            slow.sendall(b"GET /health HTTP/1.1\r\n")
            assert slow.recv(1) == b""
        assert not engine.left, "a request that waits for its answer was sent in time"
    answer.join()


def test_there_is_room_for_some_connections_on_any_machine() -> None:
    assert most_connections() >= 128


@pytest.mark.parametrize(
    ("path", "kind"), [("/v1/chat/completions", "server_error"), ("/v1/messages", "overloaded_error")]
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_the_end_of_the_server_interrupts_ends_with_an_error(
    monkeypatch: pytest.MonkeyPatch, path: str, kind: str, *, stream: bool
) -> None:
    monkeypatch.setattr(listener, "GRACE", 0.2)
    engine = ScriptedEngine([Script([made_round(0, (), "Hi")], waits_at=1)])
    with on_loopback(scripted_app(engine)) as url:
        answer = asking(url, path, stream=stream)
        assert engine.started.wait(600)
    answer.join()
    assert answer.status == (200 if stream else 503)
    assert kind in answer.body
    assert "the server was asked to end" in answer.body


class Asking(threading.Thread):
    """A request in a thread; its status and body are there once it has ended."""

    def __init__(self, url: str, body: dict[str, object]) -> None:
        super().__init__()
        given = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 9, **body}
        headers = {"Content-Type": "application/json"}
        self._request = Request(url, json.dumps(given).encode(), headers)
        self.status, self.body = 0, ""

    def run(self) -> None:
        try:
            with urlopen(self._request, timeout=600) as response:
                self.status, self.body = response.status, response.read().decode()
        except HTTPError as error:
            with error:
                self.status, self.body = error.code, error.read().decode()


def asking(url: str, path: str = "/v1/chat/completions", *, stream: bool = False) -> Asking:
    """A request that is being answered."""
    thread = Asking(url + path, {"stream": stream})
    thread.start()
    return thread
