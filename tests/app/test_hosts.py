"""Which names and addresses are this machine."""

from __future__ import annotations

import pytest

from specchat.hosts import is_loopback


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST.", "127.0.0.1", "[::1]", "::1", "a.localhost"])
def test_these_are_names_of_this_machine(name: str) -> None:
    assert is_loopback(name)


@pytest.mark.parametrize(
    "name", ["", "localhost.example.org", "notlocalhost", "127.0.0.1.example.org", "0.0.0.0", "10.0.0.1"]
)
def test_these_are_not(name: str) -> None:
    assert not is_loopback(name)
