"""`/race`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, needs_local, nothing

RACE = Command(
    "race",
    "",
    "Answer the last prompt plain and speculatively, side by side.",
    nothing,
    order=220,
    refuses=needs_local("racing against plain decoding"),
)
