"""Writes the visible branch of a conversation to a file, with the traces of its answers where they were stored."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from specchat.chat.archive import Archive
from specchat.chat.conversation import Conversation
from specchat.errors import SpecchatError
from specchat.models.formatting import model_name
from specchat.settings.paths import expanded
from specchat.store.records import StoredMessage
from specchat.terminal.filter import clean_line
from specchat.traces.exports import export_session
from specchat.traces.exports.document import SaidMessage
from specchat.traces.trace import Trace
from specchat.worker.protocol import Loaded

_ENDINGS = {"markdown": ".md", "html": ".html", "jsonl": ".jsonl", "svg": ".svg"}
_LONGEST_NAME = 40


async def export_conversation(
    archive: Archive, conversation: Conversation, loaded: Loaded | None, kind: str, path: Path | None
) -> Path:
    """Writes the visible branch. Without a path, the file is named after the session's title in the current folder.

    Raises SpecchatError if there is nothing to write or the file exists, and OSError if it cannot be written.
    """
    said = conversation.path()
    answerer = model_name(loaded.target) if loaded else "answer"
    traces = [trace for message in said if (trace := await _trace(archive, message)) is not None]
    messages: list[SaidMessage] = [(message.role, message.content, message.figures or "") for message in said]
    target = expanded(path) if path is not None else free_path(Path.cwd(), conversation.session.title, kind)
    title = conversation.session.title or f"A chat with {answerer}"
    export_session(kind, title, messages, traces, target)
    return target


def free_path(folder: Path, title: str, kind: str) -> Path:
    """An unused file name made from the title."""
    plain = unicodedata.normalize("NFKD", clean_line(title)).encode("ascii", "ignore").decode().lower()
    stem = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST_NAME].rstrip("-") or "specchat"
    ending = _ENDINGS[kind]
    path, number = folder / f"{stem}{ending}", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}{ending}"
    return path


async def _trace(archive: Archive, message: StoredMessage) -> Trace | None:
    """The trace of an answer; None if there is none or it is damaged."""
    if message.role != "assistant":
        return None
    try:
        return await archive.trace(message.id)
    except SpecchatError:
        return None
