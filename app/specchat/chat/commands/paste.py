"""`/paste`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, nothing

PASTE = Command(
    "paste",
    "",
    "Add the image in the clipboard to the message.",
    nothing,
    order=270,
    plain="The image in the clipboard goes with the next message.",
)
