"""Hugging Face's environment variables, read each time they are needed.

huggingface_hub itself reads most of them once, when it is imported.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TRUE = {"1", "ON", "YES", "TRUE"}
_HUB = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class HubEnvironment:
    """The hub's address, its cache folder, and whether the network, symbolic links and Xet may be used."""

    endpoint: str
    cache: Path
    offline: bool
    symlinks: bool
    xet: bool


def hub_environment() -> HubEnvironment:
    """The present values of HF_ENDPOINT, HF_HUB_CACHE, HF_HOME, HF_HUB_OFFLINE, HF_HUB_DISABLE_SYMLINKS and _XET."""
    return HubEnvironment(
        endpoint=os.environ.get("HF_ENDPOINT", _HUB).rstrip("/") or _HUB,
        cache=_path("HF_HUB_CACHE") or _path("HUGGINGFACE_HUB_CACHE") or _home() / "hub",
        offline=_is_true("HF_HUB_OFFLINE") or _is_true("TRANSFORMERS_OFFLINE"),
        symlinks=not _is_true("HF_HUB_DISABLE_SYMLINKS"),
        xet=not _is_true("HF_HUB_DISABLE_XET"),
    )


def access_token() -> str | None:
    """The token from HF_TOKEN or from `hf auth login`; None if there is none."""
    from huggingface_hub import get_token

    return get_token()


def _home() -> Path:
    caches = _path("XDG_CACHE_HOME") or Path.home() / ".cache"
    return _path("HF_HOME") or caches / "huggingface"


def _path(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(os.path.expandvars(value)).expanduser() if value else None


def _is_true(name: str) -> bool:
    return os.environ.get(name, "").upper() in _TRUE
