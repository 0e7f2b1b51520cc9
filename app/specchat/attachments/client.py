"""The process that reads one file, as the application sees it: asked once, and killed if it takes too long."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from time import monotonic
from typing import Final, TypeVar

from specchat.attachments.protocol import (
    LARGEST_PICTURE,
    Convert,
    FetchPage,
    FileText,
    Grab,
    Picture,
    ReadFailed,
    Reply,
    Request,
    Unpack,
    decode_reply,
    encode,
)
from specchat.errors import AttachmentError
from specchat.pipes import command_of
from specchat.terminal.filter import clean_line, without_sequences

PATIENCE: Final = 60.0
"""Seconds that a file may take. A PDF of several hundred pages takes about half of it."""

FETCHING: Final = 30.0
"""Seconds that a page may take to arrive."""

CLIPBOARD: Final = 5.0
"""Seconds that the clipboard has to give its picture: the program that it was copied in may hang."""

_NO_ANSWER: Final = "cannot be read: its reader ended without an answer, as for a damaged file"
_STEP: Final = 0.1
_GRACE: Final = 1.0

Kind = TypeVar("Kind", FileText, Picture)

Stopped = Callable[[], bool]
"""Says whether the user no longer wants to wait."""

_LONGEST_REPLY: Final = 2 * LARGEST_PICTURE


def text_in(name: str, path: str, kind: str, longest: int, stopped: Stopped = bool, patience: float = PATIENCE) -> str:
    """The text of a document. Raises AttachmentError, in one line that begins with the name."""
    reply = _asked(name, Convert(path, kind, longest), stopped, patience)
    return without_sequences(_expected(FileText, name, reply).text)


def picture_in(name: str, path: str, stopped: Stopped = bool, patience: float = PATIENCE) -> Picture:
    """The picture in a file. Raises AttachmentError, in one line that begins with the name."""
    return _expected(Picture, name, _asked(name, Convert(path, "image", 0), stopped, patience))


def picture_given(name: str, data: str, stopped: Stopped = bool, patience: float = PATIENCE) -> Picture:
    """A picture that is given in base 64. Raises AttachmentError, in one line that begins with the name."""
    return _expected(Picture, name, _asked(name, Unpack(data), stopped, patience))


def page_at(url: str, longest: int, stopped: Stopped = bool, patience: float = FETCHING) -> FileText | Picture:
    """What a page says, or shows. Raises AttachmentError, in one line that begins with the address."""
    reply = _asked(url, FetchPage(url, longest, patience), stopped, patience + PATIENCE)
    return FileText(without_sequences(reply.text)) if isinstance(reply, FileText) else reply


def picture_in_clipboard(stopped: Stopped = bool, patience: float = CLIPBOARD) -> Picture:
    """The picture in the clipboard. Raises AttachmentError, in one line, if there is none or it cannot be read."""
    name = "the clipboard"
    return _expected(Picture, name, _asked(name, Grab(patience), stopped, patience + CLIPBOARD))


def _asked(name: str, request: Request, stopped: Stopped, patience: float) -> FileText | Picture:
    reply = _reply_to(request, stopped, patience)
    if isinstance(reply, ReadFailed):
        raise AttachmentError(clean_line(f"{name} {reply.reason}")[:500])
    return reply


def _expected(kind: type[Kind], name: str, reply: FileText | Picture) -> Kind:
    """The reply as one of this kind. A hostile file may bring about another one."""
    if not isinstance(reply, kind):
        raise AttachmentError(clean_line(f"{name} {_NO_ANSWER}")[:500])
    return reply


def _reply_to(request: Request, stopped: Stopped, patience: float) -> Reply:
    command, pipe = command_of("specchat.attachments"), subprocess.PIPE
    try:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, process_group=0)
    except OSError as error:
        return ReadFailed(f"cannot be read: no process can be started for it: {error}")
    end = monotonic() + patience
    with process, ThreadPoolExecutor(1) as thread:
        # In a thread, since `communicate` with a timeout sends no more once it was called again.
        answer = thread.submit(process.communicate, encode(request))
        try:
            while not wait([answer], min(_STEP, patience)).done:
                if stopped():
                    return ReadFailed("was not read: it was stopped")
                if monotonic() > end:
                    return ReadFailed(f"took more than {patience:g} seconds to read, and was stopped")
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # with a program that it waits for
        output, _ = answer.result()
    reply = decode_reply(output) if len(output) <= _LONGEST_REPLY else None
    return reply or ReadFailed(_NO_ANSWER)
