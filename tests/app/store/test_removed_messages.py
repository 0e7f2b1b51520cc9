"""A message that got no answer is taken out again."""

from pathlib import Path

import pytest

from specchat.errors import StoreError
from specchat.store.records import StoredMessage, StoredSession, new_id
from specchat.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "sessions.db")


def test_what_nothing_hangs_at_goes_and_the_message_before_it_is_the_head(store: Store) -> None:
    session = StoredSession(new_id())
    first = StoredMessage(new_id(), session.id, None, "user", "one")
    second = StoredMessage(new_id(), session.id, first.id, "assistant", "two")
    store.create(session)
    store.add_message(first)
    store.add_message(second)
    store.remove_message(second.id)
    kept = store.session(session.id)
    assert kept is not None
    assert (kept.head, kept.num_messages, kept.preview) == (first.id, 1, "one")
    assert [message.content for message in store.messages(session.id)] == ["one"]
    assert store.search("two") == []
    store.remove_message(first.id)
    kept = store.session(session.id)
    assert kept is not None
    assert (kept.head, kept.num_messages, kept.preview) == (None, 0, "")
    store.close()


def test_what_was_answered_stays(store: Store) -> None:
    session = StoredSession(new_id())
    first = StoredMessage(new_id(), session.id, None, "user", "one")
    store.create(session)
    store.add_message(first)
    store.add_message(StoredMessage(new_id(), session.id, first.id, "assistant", "two"))
    with pytest.raises(StoreError, match="cannot be removed"):
        store.remove_message(first.id)
    with pytest.raises(StoreError, match="cannot be removed"):
        store.remove_message(new_id())
    assert len(store.messages(session.id)) == 2
    store.close()
