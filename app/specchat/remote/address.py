"""Where a server is: its URL, the key that it wants, and which of its models is meant."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from specchat.errors import ConfigError
from specchat.hosts import is_loopback
from specchat.terminal.filter import clean_line

_API = "/v1"


@dataclass(frozen=True, slots=True)
class Address:
    """`root` is the URL without a slash at its end and without `/v1`. The key is in no representation of it.

    `model` is the name of one of the server's models, empty for its first.
    """

    root: str
    model: str = ""
    key: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """The host with its port and the path before `/v1`, as the user sees it."""
        return self.root.partition("://")[2]

    @property
    def is_loopback(self) -> bool:
        """Whether the server runs on this machine."""
        return is_loopback(urlsplit(self.root).hostname or "")

    def api(self, path: str) -> str:
        """The URL of a path of OpenAI's API, such as `/models`."""
        return f"{self.root}{_API}{path}"

    def without_key(self, text: str) -> str:
        """The text with a sign in place of the key, which a server may repeat."""
        return text.replace(self.key, "<key>") if self.key else text


def read_address(url: str, *, model: str = "", key: str = "", flag: str = "--remote") -> Address:
    """The address that a user wrote after this flag; without a scheme it is `http`.

    Raises ConfigError for what is no URL, for one with a key in it, and for a key that no header can hold.
    """
    written = url.strip()
    parts = _split(written if "://" in written else f"http://{written}")
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(
            f"{flag} {clean_line(url)} is not an address of a server: use one such as http://localhost:8000"
        )
    if parts.username or parts.password:
        raise ConfigError(
            f"{flag} has a name or a password in its address: give keys with SPECCHAT_API_KEY or --api-key"
        )
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError("the API key has characters that no header can hold: use a key of letters, digits and signs")
    path = parts.path.rstrip("/").removesuffix(_API)
    return Address(f"{parts.scheme}://{parts.netloc}{path}", model.strip(), key)


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 else None
    except ValueError:
        return None
