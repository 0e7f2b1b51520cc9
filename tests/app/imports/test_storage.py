"""What an import stores: sessions as the list shows them, nothing twice, nothing half."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.imports.conftest import SAMPLES, write_oterm_store
from specchat.chat.conversation import Conversation
from specchat.errors import UnreadableExport
from specchat.imports import import_file
from specchat.store import Store, StoredMessage, new_id
from specchat.store.records import path_to

Sample = Callable[[str], Any]
CHATGPT = SAMPLES / "conversations.json"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "data" / "sessions.db") as opened:
        yield opened


def shown(store: Store, session: int) -> list[str]:
    """The texts of the branch that a session shows."""
    found = store.session(session)
    assert found is not None
    return [message.content for message in path_to(store.messages(session), found.head)]


def written(path: Path, elements: object) -> Path:
    path.write_text(json.dumps(elements))
    return path


def test_the_list_shows_title_time_number_and_preview(store: Store) -> None:
    assert import_file(store, CHATGPT).sentence == "1 imported, 1 empty"
    (session,) = store.sessions()
    assert (session.title, session.num_messages, session.preview) == ("Rounds and drafts", 4, "It shows a tree.")
    assert (session.created, session.updated) == (1729000000.25, 1729000900.5)
    assert store.search("draft pass")[0].session.id == session.id


def test_the_conversation_can_go_on(store: Store) -> None:
    import_file(store, SAMPLES / "open-webui.json")
    (session,) = store.sessions()
    conversation = Conversation(session, store.messages(session.id))
    conversation.ask("And then?")
    assert [(message.role, message.content) for message in conversation.asked()] == [
        ("system", "Be brief."),
        ("user", "What is a draft?"),
        ("assistant", "Tokens that may be right."),
        ("user", "And then?"),
    ]


def test_an_imported_session_is_tagged_with_where_it_is_from(store: Store, sample: Sample, tmp_path: Path) -> None:
    elements = sample("open-webui.json")
    elements[0]["meta"]["tags"] = ["Machine Learning", "science", "#", 7]
    import_file(store, written(tmp_path / "tagged.json", elements))
    assert store.sessions()[0].tags == ("machine-learning", "open-webui", "science")
    store.set_tags(store.sessions()[0].id, ["mine"])
    import_file(store, tmp_path / "tagged.json")
    assert store.sessions()[0].tags == ("mine",)


def test_a_second_import_adds_nothing(store: Store) -> None:
    for _ in range(2):
        for path in sorted(SAMPLES.iterdir()):
            imported = import_file(store, path)
    assert imported.sentence == "0 imported, 1 already here"
    assert store.num_sessions() == 3
    assert sorted(session.num_messages for session in store.sessions()) == [2, 2, 4]


def test_a_later_export_adds_what_was_said_since(store: Store, sample: Sample, tmp_path: Path) -> None:
    elements = sample("conversations.json")
    import_file(store, CHATGPT)
    (session,) = store.sessions()
    store.rename(session.id, "my title")
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Which tree?"]}}
    elements[0]["mapping"]["new"] = {"id": "new", "parent": "aaa-a2", "message": message}
    elements[0]["current_node"] = "new"
    assert import_file(store, written(tmp_path / "later.json", elements)).sentence == "0 imported, 1 grown, 1 empty"
    (grown,) = store.sessions()
    assert (grown.id, grown.title, grown.num_messages) == (session.id, "my title", 5)
    assert shown(store, session.id)[-2:] == ["It shows a tree.", "Which tree?"]


def test_what_was_added_here_stays_and_what_was_deleted_here_stays_deleted(store: Store) -> None:
    import_file(store, CHATGPT)
    (session,) = store.sessions()
    store.add_message(StoredMessage(new_id(), session.id, session.head, "user", "asked here"))
    assert import_file(store, CHATGPT).present == 1
    assert shown(store, session.id)[-1] == "asked here"
    store.delete(session.id)
    assert import_file(store, CHATGPT).sentence == "0 imported, 1 deleted here before, 1 empty"
    assert store.num_sessions() == 0


def test_nothing_of_a_file_that_breaks_off_or_takes_too_long_is_stored(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(CHATGPT.read_bytes()[:-40])
    with pytest.raises(UnreadableExport, match="not valid JSON"):
        import_file(store, path)
    with pytest.raises(UnreadableExport, match="takes more than 0 seconds"):
        import_file(store, CHATGPT, most_seconds=0)
    assert store.num_sessions() == 0


def test_what_cannot_be_read_is_reported_and_the_rest_is_stored(store: Store, sample: Sample, tmp_path: Path) -> None:
    path = written(tmp_path / "conversations.json", [sample("conversations.json")[0], 7])
    imported = import_file(store, path)
    assert imported.sentence == "1 imported, 1 unreadable"
    assert [skipped.number for skipped in imported.skipped] == [2]


def test_without_times_a_session_is_as_old_as_the_file(store: Store, oterm_store: Path) -> None:
    os.utime(oterm_store, (1_600_000_000, 1_600_000_000))
    import_file(store, oterm_store)
    (session,) = store.sessions()
    assert (session.title, session.created, session.updated) == ("On drafts", 1_600_000_000, 1_600_000_000)


def test_two_stores_of_oterm_do_not_take_each_others_place(store: Store, oterm_store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    write_oterm_store(other, [(1, "On drafts", None)], [(1, "user", "another question")])
    assert import_file(store, oterm_store).new + import_file(store, other).new == 2


def test_a_conversation_without_a_title_gets_its_first_words(store: Store, sample: Sample, tmp_path: Path) -> None:
    elements = sample("conversations.json")
    elements[0]["title"] = None
    import_file(store, written(tmp_path / "untitled.json", elements))
    assert store.sessions()[0].title == "What is a round?"


def test_a_lone_surrogate_is_stored(store: Store, sample: Sample, tmp_path: Path) -> None:
    elements = sample("conversations.json")
    elements[0]["mapping"]["aaa-a2"]["message"]["content"]["parts"] = ["half \ud83d"]
    path = written(tmp_path / "surrogate.json", elements)
    assert import_file(store, path).new == 1
    assert shown(store, store.sessions()[0].id)[-1] == "half \ufffd"
    assert import_file(store, path).present == 1


class CountingStore(Store):
    """A store that counts how often the messages of a session were read."""

    looked_at = 0

    def messages(self, session: int) -> list[StoredMessage]:
        self.looked_at += 1
        return super().messages(session)


def test_one_conversation_hundreds_of_times_is_looked_at_once(tmp_path: Path) -> None:
    (element, *_) = json.loads(CHATGPT.read_text("utf-8"))
    path = written(tmp_path / "conversations.json", [element] * 500)
    with CountingStore.open(tmp_path / "sessions.db") as store:
        assert import_file(store, path).sentence == "1 imported, 499 already here"
        assert store.looked_at == 1
