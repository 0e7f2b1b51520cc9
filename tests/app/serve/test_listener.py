"""The server's address."""

from __future__ import annotations

import socket

import pytest

from specchat.errors import ConfigError
from specchat.serve.listener import address_of, listen


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
