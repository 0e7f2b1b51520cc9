"""`/regen`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, nothing

REGEN = Command("regen", "", "Another answer to the last message.", nothing, order=330, plain=True)
