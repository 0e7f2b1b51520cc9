"""The conversations that are stored on this machine, as they are shown."""

from __future__ import annotations

from specchat.settings.paths import sessions_db
from specchat.store import State, Store, path_to
from specchat_engine.prompt.messages import Message


def own_chats() -> list[tuple[Message, ...]]:
    """The messages of each conversation with an answer; none if nothing was stored yet. Raises the app's StoreError."""
    file = sessions_db()
    if not file.exists():
        return []
    chats = []
    with Store.open(file, read_only=True) as store:
        for session in store.sessions(limit=100_000):
            system = (Message("system", session.system),) if session.system else ()
            shown = path_to(store.messages(session.id), session.head)
            whole = [message for message in shown if message.role == "user" or message.state is State.WHOLE]
            chats.append((*system, *(message.to_message() for message in whole)))
    return [chat for chat in chats if any(message.role == "assistant" for message in chat)]
