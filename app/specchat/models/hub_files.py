"""A file on the hub, and whether what a hub says of one can be believed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from specchat.models.environment import hub_environment

_SHA256 = re.compile(r"[0-9a-f]{64}")
_GIT_OID = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a repository as it was at a commit. `digest` is its sha256, or git's sha1 for a file that git keeps."""

    repository: str
    commit: str
    path: str
    size: int
    digest: str

    @property
    def url(self) -> str:
        """Where to fetch it by plain HTTPS, which every mirror serves."""
        return f"{hub_environment().endpoint}/{self.repository}/resolve/{self.commit}/{quote(self.path)}"

    @property
    def is_large(self) -> bool:
        """Whether it lies in the hub's storage for large files, instead of in git."""
        return bool(_SHA256.fullmatch(self.digest))

    @property
    def xet_token_url(self) -> str:
        """Where the hub gives its token for Xet's storage."""
        return f"{hub_environment().endpoint}/api/models/{self.repository}/xet-read-token/{self.commit}"


def is_digest(value: object) -> bool:
    """Whether it is a sha256 or one of git's object names, in hexadecimal: it becomes a file's name."""
    return isinstance(value, str) and bool(_SHA256.fullmatch(value) or _GIT_OID.fullmatch(value))


def is_safe_path(path: str) -> bool:
    """Whether a repository's path stays inside the folder that it is put under."""
    parts = path.split("/")
    plain = not any(ord(letter) < 32 or letter in '\\:*?"<>|' for letter in path)
    return plain and len(path) < 512 and all(part not in ("", ".", "..") for part in parts)
