from __future__ import annotations

import pytest

from specchat.errors import ConfigError
from specchat.remote.address import read_address


@pytest.mark.parametrize(
    ("written", "root"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("http://localhost:8000/", "http://localhost:8000"),
        ("http://10.0.0.2:8080/v1/", "http://10.0.0.2:8080"),
        ("https://api.example.org/v1", "https://api.example.org"),
        ("https://example.org/llm/v1", "https://example.org/llm"),
        ("[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_an_address_is_read_as_people_write_it(written: str, root: str) -> None:
    address = read_address(written)
    assert address.root == root
    assert address.api("/models") == f"{root}/v1/models"
    assert address.host == root.partition("://")[2]


@pytest.mark.parametrize(
    "written", ["", "http://", "ftp://host", "http://host:port", "http://host:99999", "http://host/?a=1", "http://[::1"]
)
def test_what_is_no_address_is_refused_in_one_line(written: str) -> None:
    problem = "is not an address of a server: use one such as http://localhost:8000"
    with pytest.raises(ConfigError, match=problem) as caught:
        read_address(written)
    assert "\n" not in str(caught.value)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match="SPECCHAT_API_KEY") as caught:
        read_address("http://me:hunter2@host:8000")
    assert "hunter2" not in str(caught.value)


def test_a_key_is_in_no_representation_and_is_hidden_in_texts() -> None:
    address = read_address("host:8000", key="sk-very-secret")
    assert "secret" not in repr(address)
    assert "secret" not in str(address)
    assert address.without_key("Incorrect API key provided: sk-very-secret.") == "Incorrect API key provided: <key>."


def test_a_key_that_no_header_can_hold_is_refused_and_not_repeated() -> None:
    for key in ("two words", "naïve", "line\nend"):
        with pytest.raises(ConfigError, match="no header can hold") as caught:
            read_address("host", key=key)
        assert key not in str(caught.value)


def test_this_machine_is_known() -> None:
    here = ("localhost:1", "127.0.0.1", "http://127.1.2.3:8", "[::1]:8000", "a.localhost")
    assert all(read_address(one).is_loopback for one in here)
    assert not any(read_address(one).is_loopback for one in ("example.org", "10.0.0.1", "localhost.example.org"))
