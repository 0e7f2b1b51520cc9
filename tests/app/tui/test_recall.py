from specchat.chat.history import Entry
from specchat.tui.recall import Recall, Search

ONE, TWO, DRAFT = Entry("one"), Entry("two"), Entry("draft")


def test_a_walk_goes_to_the_oldest_and_back_to_the_draft() -> None:
    walk = Recall([ONE, TWO])
    assert [walk.older(DRAFT), walk.older(TWO), walk.older(ONE)] == [TWO, ONE, None]
    assert [walk.newer(), walk.newer(), walk.newer()] == [TWO, DRAFT, None]


def test_nothing_is_older_where_nothing_was_sent() -> None:
    walk = Recall([])
    assert walk.older(DRAFT) is None
    assert walk.newer() is None


def test_each_walk_begins_at_its_own_draft() -> None:
    walk = Recall([ONE])
    walk.older(DRAFT)
    walk.newer()
    walk.older(TWO)
    assert walk.newer() == TWO


def search(query: str, *texts: str) -> Search:
    return Search([Entry(text) for text in texts], DRAFT).looking_for(query)


def test_a_search_finds_the_newest_first_and_each_text_once() -> None:
    found = search("a", "a1", "b", "a2", "a1")
    assert [entry.text for entry in found.found] == ["a1", "a2"]
    assert [found.moved(steps).shown.text for steps in (-1, 0, 1, 5)] == ["a1", "a1", "a2", "a2"]


def test_what_holds_nothing_leaves_the_draft() -> None:
    assert search("x", "a").shown == search("", "a").shown == DRAFT
    assert search("x", "a").moved(1).shown == DRAFT


def test_a_capital_means_a_capital() -> None:
    assert len(search("why", "Why", "why").found) == 2
    assert [entry.text for entry in search("Why", "Why", "why").found] == ["Why"]


def test_another_query_begins_at_the_newest_again() -> None:
    assert search("a", "ab", "ac").moved(1).looking_for("a").shown == Entry("ac")
