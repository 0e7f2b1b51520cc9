"""Which stored session `--resume` means."""

from __future__ import annotations

from pathlib import Path

from specchat.errors import ConfigError
from specchat.store.store import Store

LAST = "last"
_COUNTED = 999
"""Greater numbers are ids, which are drawn from 63 bits."""


def session_to_resume(asked: str, path: Path) -> int:
    """The id of the session: `last`, a small number that counts back from it as `/sessions` of the plain mode does,
    or an id.

    Raises ConfigError, in one line, where there is none, and StoreUnavailable where the file cannot be read.
    """
    if not path.exists():
        raise ConfigError("--resume finds no session: none was kept yet; start one without it")
    with Store.open(path) as store:
        if asked == LAST:
            newest = store.sessions(1)
            if not newest:
                raise ConfigError("--resume finds no session: none was kept yet; start one without it")
            return newest[0].id
        if not asked.isascii() or not asked.isdigit():
            raise ConfigError(f"--resume is {asked!r}: use last, or a session's number")
        if 0 < int(asked) <= _COUNTED:
            latest = store.sessions(int(asked))
            if len(latest) < int(asked):
                raise ConfigError(f"--resume is {asked}: there are only {len(latest)}; use last, or a smaller number")
            return latest[-1].id
        if int(asked) >= 2**63 or store.session(int(asked)) is None:
            raise ConfigError(f"--resume is {asked}: there is no such session; use last, or find it with Ctrl+O")
        return int(asked)
