"""Which names and addresses are this machine."""

from __future__ import annotations

from specchat.hosts import is_loopback


def test_names_of_this_machine_are_distinguished_from_others() -> None:
    own = ["localhost", "LOCALHOST.", "127.0.0.1", "[::1]", "::1", "a.localhost"]
    others = ["", "localhost.example.org", "notlocalhost", "127.0.0.1.example.org", "0.0.0.0", "10.0.0.1"]
    assert [name for name in (*own, *others) if is_loopback(name)] == own
