"""What a bug report must not tell: secrets, and whose machine it is."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

HIDDEN = "<hidden>"

_SECRET_NAME = re.compile(
    r"token(?!s)|secret|passw|api_?key|credential|auth(?!or)|private|bearer|cookie|(?:^|_)key$", re.IGNORECASE
)
_NAMES = r"(?:token|secret|passw\w*|api_?key|sig|signature|auth)"
_SECRETS = (
    re.compile(r"()\b(?:hf|sk|ghp|gho|github_pat|glpat|xox[a-z])[_-][\w-]{8,}"),
    re.compile(r"(bearer )[^\s\"']+", re.IGNORECASE),
    re.compile(r"(://)[^/\s@]+(?=@)"),
    re.compile(rf"({_NAMES}[\"']?\s*[=:]\s*[\"']?)[^\s,;&\"']{{8,}}", re.IGNORECASE),
)
"""What stands in front of a secret, in a group, and the secret."""

_HOMES = re.compile(r"(?:[A-Za-z]:)?[\\/](?:home|Users)[\\/][^\\/\s:'\"]+")


def is_secret_name(name: str) -> bool:
    """Whether a setting or variable of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def hidden(value: Any) -> Any:
    """A text, or every text in lists and mappings: secrets left out, home folders as `~`, the user's name as `<user>`.

    Secrets are told by how they look; `is_secret_name` tells those that only their name gives away.
    """
    if isinstance(value, str):
        return _hidden_text(value)
    if isinstance(value, dict):
        return {_hidden_text(str(key)): hidden(item) for key, item in value.items()}
    return [hidden(item) for item in value] if isinstance(value, list | tuple) else value


def _hidden_text(text: str) -> str:
    for home in {str(Path.home()), os.environ.get("USERPROFILE", ""), os.environ.get("HOME", "")}:
        if len(home) > 1:
            text = re.sub(re.escape(home.rstrip("/\\")) + r"(?![\w.-])", "~", text)
    text = _HOMES.sub("~", text)
    for secret in _SECRETS:
        text = secret.sub(rf"\1{HIDDEN}", text)
    for user in {os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME")} - {"root", ""}:
        text = re.sub(rf"(?<=[\\/]){re.escape(user)}(?=[\\/]|$)", "<user>", text)
    return text
