"""Tags: given, removed, counted, and what a search limited by them finds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat.errors import StoreError
from specchat.store import Store, StoredSession, new_id, tag_of
from support.stored import begun, said


def tags_of(store: Store, session: int) -> tuple[str, ...]:
    found = store.session(session)
    assert found is not None
    return found.tags


def found(store: Store, text: str) -> list[str]:
    """The titles of the sessions that a search finds."""
    return [hit.session.title for hit in store.search(text)]


def test_tags_are_kept_and_replaced_and_may_come_with_a_new_session(store: Store) -> None:
    session, other = begun(store, "one"), begun(store, "two")
    store.set_tags(session, ["work", "draft", "work"])
    assert tags_of(store, session) == ("draft", "work")
    assert [listed.tags for listed in store.sessions() if listed.id == session] == [("draft", "work")]
    store.set_tags(session, ["home"])
    assert (tags_of(store, session), tags_of(store, other)) == (("home",), ())
    tagged = StoredSession(new_id(), "three", 1.0, tags=("work",))
    store.create(tagged)
    assert tags_of(store, tagged.id) == ("work",)
    with pytest.raises(StoreError):
        store.set_tags(new_id(), ["work"])


def test_tags_are_counted_without_deleted_sessions(store: Store) -> None:
    sessions = [begun(store, str(number)) for number in range(3)]
    for session in sessions:
        store.set_tags(session, ["work"])
    store.set_tags(sessions[0], ["work", "alpha"])
    store.delete(sessions[1])
    assert store.tags() == {"work": 2, "alpha": 1}


def test_tags_are_erased_with_their_session(store: Store) -> None:
    session = begun(store)
    store.set_tags(session, ["work"])
    store.delete(session, at=1.0)
    store.purge(0, now=2.0)
    store.create(StoredSession(session))
    assert tags_of(store, session) == ()


def test_a_search_can_be_limited_to_tags(store: Store) -> None:
    for title, tags in {"plan of work": ["work"], "plan of home": ["home", "diy"], "a walk": ["work", "diy"]}.items():
        session = begun(store, title)
        said(store, session, f"words about {title}, and a plan")
        store.set_tags(session, tags)
    assert sorted(found(store, "#work")) == ["a walk", "plan of work"]
    assert found(store, "#work #diy") == ["a walk"]
    assert sorted(found(store, "#WO")) == ["a walk", "plan of work"]  # while it is typed
    assert len(found(store, "#")) == 3
    assert sorted(found(store, "plan #work")) == ["a walk", "plan of work"]
    assert found(store, "#home words") == ["plan of home"]
    assert found(store, "#play") == found(store, "walk #home") == []


def test_the_limit_counts_only_what_the_tag_lets_through(store: Store) -> None:
    for number in range(20):
        session = begun(store, f"plan {number}", created=float(number))
        store.set_tags(session, ["old"] if number < 2 else ["new"])
    assert len(store.search("plan #old", limit=5)) == 2


def test_quotes_search_for_a_text_with_the_sign(store: Store) -> None:
    said(store, begun(store, "one"), "use #include here")
    assert found(store, "#include") == []
    assert found(store, '"#include"') == ["one"]


@pytest.mark.parametrize("percent", ["%", "_", "\\"])
def test_no_character_of_a_tag_stands_for_others(store: Store, percent: str) -> None:
    store.set_tags(begun(store, "one"), ["work"])
    assert found(store, f"#{percent}") == []
    store.set_tags(begun(store, "two"), [f"{percent}work"])
    assert found(store, f"#{percent}") == ["two"]


@pytest.mark.parametrize("word", ["", "#", "two words", "a#b", "x" * 41, "a\x1bb", "a\0"])
def test_a_word_means_a_tag_and_other_texts_cannot_be_one(word: str) -> None:
    assert [tag_of(given) for given in ("work", "#Work", "größe-2", "计划")] == ["work", "work", "größe-2", "计划"]
    with pytest.raises(StoreError, match="cannot be a tag"):
        tag_of(word)


@settings(max_examples=40)
@given(st.text(max_size=45))
def test_every_tag_that_is_allowed_can_be_stored_and_found(tmp_path_factory: pytest.TempPathFactory, word: str) -> None:
    try:
        tag = tag_of(word)
    except StoreError:
        return
    with Store.open(tmp_path_factory.mktemp("tags") / "sessions.db") as store:
        session = begun(store, "one")
        store.set_tags(session, [tag])
        assert tags_of(store, session) == (tag,)
