"""Everything that was said is found again, whatever is typed into the search."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from specchat.store import State, Store
from support.stored import begun, said


def found(store: Store, text: str) -> list[tuple[int, int | None, str]]:
    return [(hit.session.id, hit.message, hit.snippet) for hit in store.search(text, marks=("<", ">"))]


def test_a_word_is_found_in_titles_first_and_then_in_the_most_recent_messages(store: Store) -> None:
    older, newer, titled = begun(store), begun(store), begun(store, "About foxes")
    first = said(store, older, "the fox runs")
    said(store, titled, "a fox, too")
    second = said(store, newer, "no fox here")
    assert found(store, "fox") == [
        (titled, None, "About <foxes>"),
        (newer, second, "no <fox> here"),
        (older, first, "the <fox> runs"),
    ]


def test_titles_with_the_word_stand_in_the_order_of_the_list(store: Store) -> None:
    first, second = begun(store, "fox one", 1.0), begun(store, "fox two", 2.0)
    assert [hit.session.id for hit in store.search("fox")] == [second, first]
    store.touch(first, 3.0)
    assert [hit.session.id for hit in store.search("fox")] == [first, second]
    store.rename(first, "after")
    assert [hit.session.id for hit in store.search("fox")] == [second]
    assert found(store, "after") == [(first, None, "<after>")]
    unspaced = begun(store, "今天天气很好")
    assert found(store, "天气") == [(unspaced, None, "今天<天气>很好")]


def test_each_session_is_found_once_by_its_most_recent_message(store: Store) -> None:
    session = begun(store)
    said(store, session, "fox one")
    newest = said(store, session, "fox two")
    assert found(store, "fox") == [(session, newest, "<fox> two")]


@pytest.mark.parametrize(
    ("typed", "snippet"),
    [
        ("CAF", "un <café> noir, naïve Größe"),
        ("café", "un <café> noir, naïve Größe"),
        ("noir un", "<un> café <noir>, naïve Größe"),
        ("naive groß", "un café noir, <naïve> <Größe>"),
        ('"café noir"', "un <café noir>, naïve Größe"),
        ('"café noi', "un <café noir>, naïve Größe"),
        ("café, NOIR!", "un <café> <noir>, naïve Größe"),
    ],
)
def test_the_beginnings_of_words_are_found_without_regard_to_case_and_accents(
    store: Store, typed: str, snippet: str
) -> None:
    session = begun(store)
    message = said(store, session, "un café noir, naïve Größe")
    assert found(store, typed) == [(session, message, snippet)]


@pytest.mark.parametrize("typed", ["", "   ", "\0", '"', '""', "afé", "café thé", '"noir café"'])
def test_what_is_not_there_is_not_found(store: Store, typed: str) -> None:
    said(store, begun(store, "titled"), "un café noir")
    assert found(store, typed) == []


@pytest.mark.parametrize(
    ("typed", "content", "snippet"),
    [
        ("天气", "今天天气很好", "今天<天气>很好"),
        ("天气 Good", "今天天气很好 good", "今天<天气>很好 good"),
        ("🙂", "well 🙂 then", "well <🙂> then"),
        ("+=", "i += 1", "i <+=> 1"),
        ("100%", "100 percent, then 100% sure", "<100> percent, then <100>% sure"),
        ("%", "100 % sure", "100 <%> sure"),
        ("_", "snake _ case", "snake <_> case"),
        ("\\", "C:\\ drive", "C:<\\> drive"),
    ],
)
def test_what_the_index_has_no_words_for_is_found_in_the_texts(
    store: Store, typed: str, content: str, snippet: str
) -> None:
    session = begun(store)
    said(store, session, "something else 那是 100")
    said(store, begun(store), "other")
    message = said(store, session, content)
    hits = found(store, typed)
    assert hits[0] == (session, message, snippet)
    assert len(hits) == 1


def test_a_long_text_is_shown_around_what_was_found(store: Store) -> None:
    session = begun(store)
    said(store, session, "word " * 500 + "needle " + "word " * 500 + "日本" + " word" * 500)
    for typed in ("needle", "日本"):
        snippet = found(store, typed)[0][2]
        assert f"<{typed}>" in snippet
        assert snippet.startswith("…")
        assert snippet.endswith("…")
        assert len(snippet) < 200


def test_an_answer_is_found_when_it_is_over_and_by_what_it_became(store: Store) -> None:
    session = begun(store)
    answer = said(store, session, "early", role="assistant", state=State.STREAMING)
    assert found(store, "early") == []
    store.update_message(answer, content="late", state=State.STOPPED)
    assert found(store, "early") == []
    assert [hit.message for hit in store.search("late")] == [answer]
    store.update_message(answer, content="latest", state=State.STREAMING)
    assert found(store, "late") == []
    store.update_message(answer, state=State.WHOLE)
    assert found(store, "latest") == [(session, answer, "<latest>")]


def test_no_more_is_found_than_was_asked_for(store: Store) -> None:
    for number in range(10):
        said(store, begun(store, "fox" if number % 2 else "", float(number)), "fox")
    hits = store.search("fox", limit=7)
    assert [hit.message is None for hit in hits] == [True] * 5 + [False] * 2


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("search") / "sessions.db"
    with Store.open(path) as store:
        said(store, begun(store, "AND OR NOT NEAR"), "title:x content:y a* -b ^c (d) {e}")
    return path


@given(text=st.text())
@example('" OR "1')
@example("title : x")
@example("content:y NOT")
@example("NEAR(a b)")
@example("^c* -b AND (")
@example("{content} : 'y'")
@example("\ud800")
@example('a"b"c" d')
def test_nothing_that_is_typed_breaks_the_query(shared: Path, text: str) -> None:
    with Store.open(shared, read_only=True) as store:
        store.search(text)


@given(content=st.text(st.characters(exclude_categories=["Cs"]), min_size=1), data=st.data())
@settings(max_examples=30)
def test_a_text_is_found_by_any_whole_word_of_it(
    tmp_path_factory: pytest.TempPathFactory, content: str, data: st.DataObject
) -> None:
    words = [word for word in content.split() if word.isascii() and word.isalnum()]
    with Store.open(tmp_path_factory.mktemp("word") / "sessions.db") as store:
        session = begun(store)
        said(store, session, content)
        if words:
            assert [hit.session.id for hit in store.search(data.draw(st.sampled_from(words)))] == [session]
