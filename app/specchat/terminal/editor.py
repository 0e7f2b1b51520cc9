"""A text in the user's own editor: the one that `$VISUAL` or `$EDITOR` names, else one that is installed."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from specchat.errors import EditorError, FileTooLarge
from specchat.files import bounded_text

_NAME = "message.md"
_MOST_BYTES = 1024 * 1024
_USUAL = ("vi", "nano", "vim", "nvim", "micro", "emacs", "ed")
"""Editors that end when the text is written, in the order in which they are looked for."""


def editor_command(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The user's editor with its arguments. Raises EditorError if none is set and none is installed."""
    for variable in ("VISUAL", "EDITOR"):
        value = environment.get(variable, "").strip()
        if not value:
            continue
        with suppress(ValueError):
            return shlex.split(value)
        raise EditorError(f"${variable} is {value!r}: close its quotes")
    for name in _USUAL:
        if path := shutil.which(name, path=environment.get("PATH")):
            return [path]
    raise EditorError("no editor is set or installed: set $VISUAL or $EDITOR to one, such as nano")


async def edited(text: str, command: list[str]) -> str:
    """The text after the editor has ended. Other tasks go on meanwhile.

    The file is in a folder that only this user can read, and both are removed. Raises EditorError if the editor cannot
    be started, fails, or leaves the file empty, not text, or larger than 1 MiB.
    """
    with tempfile.TemporaryDirectory(prefix="specchat-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / _NAME
        file.touch(0o600)
        file.write_text(text, encoding="utf-8", errors="replace")
        await _run([*command, str(file)])
        return _read(file, Path(command[0]).name)


async def _run(command: list[str]) -> None:
    try:
        process = await asyncio.create_subprocess_exec(*command)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise EditorError(f"{command[0]} cannot be started: {reason or error}; correct $VISUAL or $EDITOR") from None
    try:
        code = await process.wait()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
    if code:
        how = f"with exit code {code}" if code > 0 else f"by signal {-code}"
        raise EditorError(f"{Path(command[0]).name} ended {how}: the message is as it was")


def _read(file: Path, editor: str) -> str:
    try:
        text = bounded_text(file, _MOST_BYTES).removesuffix("\n")
    except (OSError, UnicodeDecodeError):
        raise EditorError(f"{editor} left no text in UTF-8: the message is as it was") from None
    except FileTooLarge:
        raise EditorError(
            f"{editor} left more than 1 MiB: the message is as it was; attach a file with @FILE"
        ) from None
    if not text.strip():
        raise EditorError(f"{editor} left an empty file: the message is as it was")
    return text
