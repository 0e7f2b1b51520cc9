"""Names and addresses of machines."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: a name or an address, which may be in brackets, and has no port."""
    name = host.strip("[]").partition("%")[0]
    try:
        return ip_address(name).is_loopback
    except ValueError:
        name = name.lower().rstrip(".")
        return name == "localhost" or name.endswith(".localhost")


def is_address(host: str) -> bool:
    """Whether a host is an address, which may be in brackets, and no name."""
    try:
        return bool(ip_address(host.strip("[]").partition("%")[0]))
    except ValueError:
        return False
