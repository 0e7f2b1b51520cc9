"""Past chats are read as they are shown."""

from __future__ import annotations

from dataclasses import replace

from specchat.settings.paths import sessions_db
from specchat.store import State, Store, StoredMessage, StoredSession
from specchat.texts import own_chats


def test_own_chats_are_read_as_they_are_shown() -> None:
    with Store.open(sessions_db()) as store:
        store.create(StoredSession(id=1, system="Be kind"))
        for number, (parent, role, content, state) in enumerate(
            [
                (None, "user", "Hi", State.WHOLE),
                (1, "assistant", "Hello", State.WHOLE),
                (2, "user", "And?", State.WHOLE),
                (3, "assistant", "unfinished", State.STREAMING),
                (1, "assistant", "another attempt", State.WHOLE),
            ],
            1,
        ):
            store.add_message(StoredMessage(number, 1, parent, role, content, state=state))
        store.change(replace(store.session(1), head=4))  # type: ignore[type-var]
        store.create(StoredSession(id=2))
    (chat,) = own_chats()
    said = [(message.role, message.content) for message in chat]
    assert said == [("system", "Be kind"), ("user", "Hi"), ("assistant", "Hello"), ("user", "And?")]
