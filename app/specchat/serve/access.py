"""Who may use the server: keys, and where a browser's request may come from."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from specchat.errors import ConfigError
from specchat.hosts import is_address, is_loopback
from specchat.serve.api_errors import ApiError
from specchat.settings.server import Serving
from specchat.settings.values import api_key


class Keys:
    """The keys that clients may give. Only their hashes are kept, and comparing takes the same time for all."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._hashes = [sha256(key.encode()).digest() for key in keys]

    def __bool__(self) -> bool:
        """Whether there are any: without keys everyone may come in."""
        return bool(self._hashes)

    def allow(self, key: str) -> bool:
        """Whether this is one of the keys."""
        given = sha256(key.encode("utf-8", "surrogateescape")).digest()
        return sum(hmac.compare_digest(given, known) for known in self._hashes) > 0


def read_keys(serving: Serving) -> Keys:
    """The keys of the settings, those in their file included. Raises ConfigError for a file that cannot be used."""
    keys = [*serving.api_key]
    if (file := serving.api_key_file) is not None:
        keys += _keys_in(file)
    return Keys(keys)


def _keys_in(file: Path) -> list[str]:
    try:
        lines = [line.strip() for line in file.read_text("utf-8").splitlines()]
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigError(f"--api-key-file {file} cannot be read: {reason}") from None
    try:
        keys = [api_key(line) for line in lines if line and not line.startswith("#")]
    except ValueError:
        raise ConfigError(f"--api-key-file {file} has a line that is not a key: one key a line, no spaces") from None
    if not keys:
        raise ConfigError(f"--api-key-file {file} has no key: write one a line")
    return keys


def check_reach(serving: Serving, keys: Keys, *, no_auth: bool) -> None:
    """Raises ConfigError if other machines could reach a server that asks for no key, unless that is wanted."""
    if not is_loopback(serving.host) and not keys and not no_auth:
        raise ConfigError(
            f"--host {serving.host} lets other machines use the server: give --api-key or --api-key-file, or --no-auth"
        )


class Guard:
    """Lets requests in by their headers, whose names are in lower case.

    `origins` are the web pages that may use the server, as browsers write them: in lower case.
    """

    def __init__(self, serving: Serving, keys: Keys) -> None:
        self._keys = keys
        self._local_only = is_loopback(serving.host)
        self._hosts = frozenset(host.lower() for host in serving.allow_host)
        self.origins = frozenset(origin.lower().rstrip("/") for origin in serving.cors)

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Raises ApiError for a web page that may not use the server, also one that pretends to be this machine.

        A page can make its own name point to this machine (DNS rebinding); the name is then in the header Host. It
        knows no key, and it cannot leave the header out.
        """
        host = headers.get("host", "")
        name = _name(host).lower()
        is_known = is_loopback(name) or name in self._hosts or self._keys.allow(_given_key(headers))
        if self._local_only and host and not is_known:
            message = (
                f"this server answers to localhost only, not to {host[:100]!r}; --allow-host {name[:100]} lets it in"
            )
            raise ApiError(403, message, code="host_refused")
        origin = headers.get("origin", "").lower()
        is_named = host and (is_known or is_address(name))
        own = {f"{scheme}://{host.lower()}" for scheme in ("http", "https") if is_named}
        if origin and not {"*", origin} & (self.origins | own):
            message = f"pages of {origin[:100]!r} may not use this server; --cors allows them"
            raise ApiError(403, message, code="origin_refused")

    def check_key(self, headers: Mapping[str, str]) -> None:
        """Raises ApiError if there are keys and the request has none of them."""
        if not self._keys:
            return
        key = _given_key(headers)
        if not key:
            message = "this server asks for a key: send `Authorization: Bearer KEY`, or `x-api-key: KEY`"
            raise ApiError(401, message, code="missing_api_key")
        if not self._keys.allow(key):
            raise ApiError(401, "this API key is not known here", code="invalid_api_key")


def _given_key(headers: Mapping[str, str]) -> str:
    """The key of a request; empty without one."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")


def _name(host: str) -> str:
    """A host without its port."""
    if host.startswith("["):
        return host.partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host
