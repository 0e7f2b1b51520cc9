"""Stored sessions line by line: listed with small numbers, and gone on with by such a number."""

from __future__ import annotations

import asyncio

from specchat.chat.archive import Archive
from specchat.chat.session import ChatSession
from specchat.chat.stored_settings import settings_from
from specchat.errors import SpecchatError
from specchat.plain.paper import Paper
from specchat_engine.errors import EngineError

_SHOWN = 10


class StoredSessions:
    """Knows what was listed last."""

    def __init__(self, archive: Archive, paper: Paper) -> None:
        self._archive = archive
        self._paper = paper
        self._listed: tuple[int, ...] = ()

    def show(self, words: str) -> None:
        """The latest sessions, or those with these words, one a line."""
        try:
            if words:
                hits = asyncio.run(self._archive.do(lambda store: store.search(words, limit=_SHOWN)))
                found = [hit.session for hit in hits]
            else:
                found = asyncio.run(self._archive.do(lambda store: store.sessions(_SHOWN)))
        except SpecchatError as error:
            self._paper.say(str(error))
            return
        self._listed = tuple(session.id for session in found)
        for number, session in enumerate(found, 1):
            self._paper.say(f"{number}: {session.title or session.preview or 'untitled'}")
        nothing = "No session has these words." if words else "No session yet."
        self._paper.say("/sessions and a number goes on with that one." if found else nothing)

    def listed(self, words: str) -> int | None:
        """The session that was listed with this number, None where it is none."""
        number = int(words) if words.isascii() and words.isdigit() else 0
        return self._listed[number - 1] if 0 < number <= len(self._listed) else None

    def opened(self, session: ChatSession, stored: int) -> ChatSession:
        """The stored session with the models of this one; says what it is, and why where it cannot be opened."""
        try:
            conversation = asyncio.run(self._archive.open(stored))
        except SpecchatError as error:
            self._paper.say(str(error))
            return session
        if conversation is None:
            self._paper.say("this session is not there any more")
            return session
        opened = session.renewed(conversation)
        loaded, kept = opened.loaded, conversation.session.settings
        if loaded is not None and kept is not None:
            try:
                opened.settings = settings_from(kept, loaded.drafters, opened.k_max)
            except EngineError as error:
                self._paper.say(f"the session's settings cannot be used: {error}")
        said = len(conversation.path())
        self._paper.say(f"Going on with “{conversation.session.title}”: {said} message{'' if said == 1 else 's'}.")
        return opened
