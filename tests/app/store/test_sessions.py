"""Sessions are made, changed, listed, deleted and brought back."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from specchat.errors import StoreError
from specchat.store import Store, StoredSession, new_id
from support.stored import begun, said


def test_a_session_comes_back_as_it_was_created(path: Path) -> None:
    session = StoredSession(
        new_id(),
        title="Über\nZeilen",
        created=3.5,
        updated=4.5,
        system="Be brief.",
        seed=2**64 - 1,
        target="guide.gguf",
        draft="draft.gguf",
        settings={"k": "auto", "sampling": {"temperature": 0.5, "logit_bias": [[3, "-inf"]]}},
    )
    unknown = StoredSession(new_id(), created=3.0)
    with Store.open(path) as store:
        store.create(session)
        store.create(unknown)
    with Store.open(path) as store:
        assert store.session(session.id) == session
        assert store.session(unknown.id) == replace(unknown, updated=3.0)


def test_an_id_that_is_taken_is_refused_in_one_line(store: Store) -> None:
    session = begun(store)
    with pytest.raises(StoreError) as caught:
        store.create(StoredSession(session))
    assert "\n" not in str(caught.value)


def test_the_list_begins_with_what_was_used_last(store: Store) -> None:
    first, second, third = (begun(store, created=at) for at in (1.0, 2.0, 3.0))
    assert [session.id for session in store.sessions()] == [third, second, first]
    store.touch(second, at=5.0)
    said(store, first, "again", created=4.0)
    assert [session.id for session in store.sessions()] == [second, first, third]


def test_pages_are_parts_of_one_list_without_gaps_or_repeats(store: Store) -> None:
    for _ in range(25):
        begun(store, created=1.0)
    pages = [session.id for offset in range(0, 30, 10) for session in store.sessions(10, offset)]
    assert pages == [session.id for session in store.sessions(100)]
    assert len(set(pages)) == store.num_sessions() == 25


def test_a_renamed_session_keeps_its_place(store: Store) -> None:
    first, second = begun(store, "first", 1.0), begun(store, "second", 2.0)
    store.rename(first, "a better name")
    listed = [(session.id, session.title) for session in store.sessions()]
    assert listed == [(second, "second"), (first, "a better name")]


def test_what_a_session_is_continued_with_can_be_changed(store: Store) -> None:
    session = begun(store)
    store.change(StoredSession(session, system="Be brief.", seed=7, target="guide.gguf"))
    store.set_settings(session, {"k": 3})
    found = store.session(session)
    assert found is not None
    assert (found.system, found.seed, found.settings) == ("Be brief.", 7, {"k": 3})
    assert (found.target, found.draft) == ("guide.gguf", None)


def test_a_head_has_to_be_a_message_of_the_session(store: Store) -> None:
    session, other = begun(store), begun(store)
    mine, foreign = said(store, session, "mine"), said(store, other, "foreign")
    store.change(StoredSession(session, head=None))
    store.change(StoredSession(session, head=mine))
    for wrong in (foreign, new_id()):
        with pytest.raises(StoreError):
            store.change(StoredSession(session, head=wrong))
    found = store.session(session)
    assert found is not None
    assert found.head == mine


def test_a_deleted_session_is_not_listed_counted_or_found_and_undo_brings_all_of_it_back(store: Store) -> None:
    kept, session = begun(store, created=1.0), begun(store, "walrus", created=2.0)
    said(store, session, "about the walrus")
    before, messages = store.sessions(), store.messages(session)
    store.delete(session)
    assert [one.id for one in store.sessions()] == [kept]
    assert store.num_sessions() == 1
    assert store.session(session) is None
    assert store.search("walrus") == []
    store.undo_delete(session)
    assert store.sessions() == before
    assert store.messages(session) == messages
    assert len(store.search("walrus")) == 1


def test_only_what_was_deleted_long_ago_is_purged(store: Store) -> None:
    kept, recent, old = begun(store), begun(store), begun(store)
    store.delete(recent, at=900.0)
    store.delete(old, at=100.0)
    assert store.purge(older_than=500.0, now=1000.0) == 1
    store.undo_delete(recent)
    with pytest.raises(StoreError):
        store.undo_delete(old)
    assert {session.id for session in store.sessions()} == {kept, recent}


def test_nothing_of_a_purged_conversation_is_left_in_the_tables_and_the_index(store: Store, path: Path) -> None:
    session = begun(store, "secretly")
    question = said(store, session, "whispered")
    answer = said(store, session, "hidden", question, role="assistant")
    store.keep_trace(answer, ["{}"])
    store.delete(session)
    store.purge(older_than=-10.0)
    assert store.messages(session) == []
    assert store.trace(answer) is None
    with sqlite3.connect(path) as raw:
        for words in ("title_words", "message_words"):
            raw.execute(f"INSERT INTO {words} ({words}, rank) VALUES ('integrity-check', 1)")
            assert raw.execute(f"SELECT count(*) FROM {words} ('secretly OR whispered OR hidden')").fetchone() == (0,)
    raw.close()


@pytest.mark.parametrize("title", ["a\0b", "lone \ud800 surrogate", "\x1b[31mred", "‮ right to left", "x" * 100_000])
def test_any_text_can_be_a_title(store: Store, title: str) -> None:
    session = begun(store, title)
    found = store.session(session)
    assert found is not None
    assert found.title == title.replace("\ud800", "\ufffd")


def test_changing_a_session_that_is_gone_is_reported_in_one_line(store: Store) -> None:
    for change in (
        lambda: store.rename(5, "x"),
        lambda: store.touch(5),
        lambda: store.change(StoredSession(5)),
        lambda: store.delete(5),
    ):
        with pytest.raises(StoreError, match="no such session"):
            change()


def test_several_changes_are_made_together_or_not_at_all(store: Store) -> None:
    session = begun(store, "before")

    def change_two() -> None:
        with store.together():
            store.rename(session, "after")
            store.touch(5)

    with pytest.raises(StoreError):
        change_two()
    assert [one.title for one in store.sessions()] == ["before"]
    with store.together():
        store.rename(session, "after")
        store.touch(session, 9.0)
    assert [(one.title, one.updated) for one in store.sessions()] == [("after", 9.0)]


DAMAGED: dict[str, list[object]] = {
    "seed": ["zz", b"\xff", 2.5],
    "settings": ["{", "[1]", "zz", b"\xff\x00", "[" * 100_000],
    "title": [b"\xff", 7],
    "created": ["zz", b"\xff"],
    **{column: [b"\xff"] for column in ("updated", "system", "preview", "target")},
}


@pytest.mark.parametrize(("column", "value"), [(column, value) for column, of in DAMAGED.items() for value in of])
def test_a_damaged_value_of_a_session_costs_no_more_than_itself(path: Path, column: str, value: object) -> None:
    with Store.open(path) as store:
        damaged, other = begun(store, "damaged words"), begun(store, "other words")
        said(store, damaged, "hello")
        with sqlite3.connect(path) as raw:
            raw.execute(f"UPDATE sessions SET {column} = ? WHERE id = ?", (value, damaged))
        raw.close()
        assert {session.id for session in store.sessions()} == {damaged, other}
        found = store.session(damaged)
        assert found is not None
        assert (found.seed, found.settings) == (None, None)
        assert isinstance(found.title + found.preview, str)
        assert [message.content for message in store.messages(damaged)] == ["hello"]
        assert other in {hit.session.id for hit in store.search("words")}
        store.set_settings(damaged, {"k": 3})
        store.rename(damaged, "mended")


@pytest.mark.parametrize(
    ("column", "value"),
    [("state", "zz"), ("tools", "{"), ("tools", "[]"), ("images", "{"), ("content", b"\xff"), ("created", "x")],
)
def test_a_damaged_value_of_a_message_costs_no_more_than_itself(path: Path, column: str, value: object) -> None:
    with Store.open(path) as store:
        session = begun(store)
        first = said(store, session, "hello")
        said(store, session, "world", first)
        with sqlite3.connect(path) as raw:
            raw.execute(f"UPDATE messages SET {column} = ? WHERE id = ?", (value, first))
        raw.close()
        damaged, whole = store.messages(session)
        assert (whole.content, whole.parent) == ("world", first)
        assert isinstance(damaged.content + damaged.role, str)
        assert (damaged.tools, damaged.images) == (None, ())


def test_a_text_that_is_not_utf_8_costs_no_more_than_itself(path: Path) -> None:
    with Store.open(path) as store:
        damaged = begun(store, "damaged")
        with sqlite3.connect(path) as raw:
            raw.execute("UPDATE sessions SET title = CAST(x'41FF' AS TEXT) WHERE id = ?", (damaged,))
        raw.close()
        assert [session.title for session in store.sessions()] == ["A\ufffd"]
