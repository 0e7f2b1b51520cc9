"""`/verify`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, needs_local, nothing
from specchat.chat.server_limits import COMPARISON

VERIFY = Command(
    "verify", "", "Compare the last answer with plain decoding.", nothing, order=200, refuses=needs_local(COMPARISON)
)
