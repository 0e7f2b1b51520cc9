"""`/tour`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, needs_local, nothing

TOUR = Command("tour", "", "A tour of two minutes.", nothing, order=410, refuses=needs_local("the tour"))
