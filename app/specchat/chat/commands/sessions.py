"""`/sessions`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, text

SESSIONS = Command(
    "sessions",
    "[WORDS]",
    "Stored conversations: browse, search words or #tags, continue one.",
    text,
    order=30,
    open_ended=True,
    plain="The latest sessions, or those with these words; a listed number continues that one.",
)
