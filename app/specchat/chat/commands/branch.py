"""`/branch` and `/clear`: the conversation goes on elsewhere, or from its beginning."""

from __future__ import annotations

from specchat.chat.commands.command import Command, nothing

BRANCH = Command("branch", "", "Continue in a copy of the conversation.", nothing, order=360)
CLEAR = Command("clear", "", "Remove the messages and keep the session.", nothing, order=370)
