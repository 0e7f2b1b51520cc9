"""HTTP over real sockets: what arrives, what goes wrong, and what ends it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.remote.samples import delta
from specchat.errors import RemoteError
from specchat.remote.address import read_address
from specchat.remote.refusals import Refused, Unreachable
from specchat.remote.transport import Timeouts, Transport
from support.llama_servers import free_port
from support.replaying import Replaying, Reply, page, replaying, stream

QUICK = Timeouts(connect=5.0, ask=0.2, silence=0.2)


@contextmanager
def talking(url: str, *, key: str = "", timeouts: Timeouts | None = None) -> Iterator[Transport]:
    transport = Transport(read_address(url, key=key), timeouts)
    try:
        yield transport
    finally:
        transport.close()


@pytest.fixture
def server() -> Iterator[Replaying]:
    with replaying() as running:
        yield running


def test_json_and_texts_are_asked_for_with_the_key(server: Replaying) -> None:
    server.pages |= {"/a": page({"x": 1}), "/metrics": page("vllm 1\n")}
    with talking(server.url, key="sk-secret") as transport:
        assert transport.questions().ask(f"{server.url}/a") == {"x": 1}
        assert transport.questions().ask(f"{server.url}/metrics") == "vllm 1\n"
    assert [one.headers["Authorization"] for one in server.asked] == ["Bearer sk-secret"] * 2
    assert server.asked[0].headers["User-Agent"].startswith("specchat/")


def test_without_a_key_none_is_sent(server: Replaying) -> None:
    server.pages["/a"] = page({})
    with talking(server.url) as transport:
        transport.questions().ask(f"{server.url}/a")
    assert "Authorization" not in server.asked[0].headers


def test_a_stream_is_read_to_its_end(server: Replaying) -> None:
    server.replies.append(stream(delta("a"), delta("b")))
    with talking(server.url) as transport:
        found = [*transport.stream(f"{server.url}/v1/chat/completions", {"x": 1})]
    assert found == [delta("a"), delta("b")]
    assert server.questions == [{"x": 1}]


def test_an_error_of_the_server_is_raised_where_the_stream_is_read(server: Replaying) -> None:
    server.replies.append(page({"error": {"message": "no"}}, 422))
    with talking(server.url) as transport, pytest.raises(Refused, match="answers 422: no"):
        list(transport.stream(f"{server.url}/x", {}))


def test_a_server_that_is_not_there_is_unreachable() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with talking(url) as transport:
        with pytest.raises(Unreachable, match=r"cannot be reached: .*; is the server running\?"):
            transport.questions().ask(f"{url}/v1/models")
        with pytest.raises(Unreachable):
            list(transport.stream(f"{url}/x", {}))


def test_a_silent_server_is_given_up(server: Replaying) -> None:
    server.pages["/slow"] = Reply([b"x"], hold_after=0)
    server.replies.append(stream(delta("a"), hold_after=1))
    with talking(server.url, timeouts=QUICK) as transport:
        with pytest.raises(RemoteError, match=r"sent nothing for 0.2 s"):
            transport.questions().ask(f"{server.url}/slow")
        arrived = []
        with pytest.raises(RemoteError, match=r"sent nothing for 0.2 s"):
            arrived.extend(transport.stream(f"{server.url}/x", {}))


def test_closing_a_stream_closes_its_connection_while_the_server_is_silent(server: Replaying) -> None:
    server.replies.append(stream(delta("a"), hold_after=1))
    with talking(server.url) as transport:
        running = transport.stream(f"{server.url}/x", {})
        arrived = iter(running)
        assert next(arrived) == delta("a")
        running.close()
        assert list(arrived) == []
        assert server.left.wait(600)


def test_closing_works_before_the_server_has_answered_at_all() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with talking(url) as transport:
            running = transport.stream(f"{url}/x", {"messages": []})
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                running.close()
                assert list(running) == []
                connection.settimeout(600)
                rest = b"".join(iter(lambda: connection.recv(4096), b""))
                assert b"HTTP" not in rest


def test_closing_the_transport_ends_what_is_being_read(server: Replaying) -> None:
    server.replies.append(stream(delta("a"), hold_after=1))
    found: list[object] = []
    transport = Transport(read_address(server.url))
    running = transport.stream(f"{server.url}/x", {})
    reader = threading.Thread(target=lambda: found.extend(running))
    reader.start()
    assert server.held.wait(600)
    transport.close()
    reader.join(600)
    assert not reader.is_alive()
    transport.close()


def test_closing_the_transport_ends_a_question_and_refuses_later_ones(server: Replaying) -> None:
    server.pages["/slow"] = Reply([b"x"], hold_after=0)
    failed: list[str] = []
    transport = Transport(read_address(server.url))

    def ask() -> None:
        try:
            transport.questions().ask(f"{server.url}/slow")
        except RemoteError as error:
            failed.append(str(error))

    asking = threading.Thread(target=ask)
    asking.start()
    assert server.held.wait(600)
    transport.close()
    asking.join(600)
    assert not asking.is_alive()
    ask()
    with pytest.raises(RemoteError, match="the connection was closed"):
        transport.stream(f"{server.url}/x", {})
    assert failed == ["the connection was closed"] * 2


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (stream(delta("a"), breaks=True, end=False), "the connection to 127.0.0.1:.* broke"),
        (page({"id": "x"}), "sends no stream: Expected response with content type"),
        (Reply([b"data: {oops\n\n"], headers={"Content-Type": "text/event-stream"}), "a message that is no JSON"),
        (Reply([b'data: {"x": NaN}\n\n'], headers={"Content-Type": "text/event-stream"}), "a message that is no JSON"),
        (Reply([b"data: " + b"[" * 100_000 + b"\n\n"], headers={"Content-Type": "text/event-stream"}), "is no JSON"),
        (Reply([b"data: " + b"x" * 2**21], headers={"Content-Type": "text/event-stream"}), "sends no stream"),
    ],
)
def test_a_stream_that_breaks_is_one_line(server: Replaying, reply: Reply, words: str) -> None:
    server.replies.append(reply)
    with talking(server.url) as transport, pytest.raises(RemoteError, match=words) as caught:
        list(transport.stream(f"{server.url}/x", {}))
    assert "\n" not in str(caught.value)


def test_an_endless_answer_is_not_read(server: Replaying) -> None:
    server.pages["/big"] = Reply([b"x" * 2**20, b"y"])
    with talking(server.url) as transport, pytest.raises(RemoteError, match="more than 1 MiB"):
        transport.questions().ask(f"{server.url}/big")


def test_a_host_that_cannot_be_is_no_address() -> None:
    with talking("http://a b:1") as transport, pytest.raises(RemoteError):
        transport.questions().ask("http://a b:1/v1/models")
