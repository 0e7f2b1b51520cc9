"""Messages make a tree, and an answer is kept while it arrives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specchat.errors import StoreError
from specchat.store import State, Store, StoredMessage, ToolUse, new_id, newest_leaf, path_to, siblings
from specchat.store.images import StoredImage
from specchat_engine.prompt.messages import ToolCall
from support.stored import begun, said


def test_a_message_comes_back_as_it_was_added(path: Path) -> None:
    with Store.open(path) as store:
        session = begun(store)
        images = (StoredImage("a b.png", "0" * 64, 4, 3), StoredImage("é.jpg", "1" * 64))
        question = StoredMessage(new_id(), session, None, "user", "Why?\n\tno\0w", 5.0, images=images)
        answer = StoredMessage(
            new_id(), session, question.id, "assistant", "\x1b[1mBecause.", 6.0, State.STOPPED, 2, 1, "9 tok/s"
        )
        store.add_message(question)
        store.add_message(answer)
    with Store.open(path) as store:
        assert store.messages(session) == [question, answer]


def test_calls_and_results_come_back_as_they_were_added(path: Path) -> None:
    call = ToolCall("now", '{"zone": "\x1b"}', "call00000")
    with Store.open(path) as store:
        session = begun(store)
        answer = StoredMessage(new_id(), session, None, "assistant", "", 6.0, tools=ToolUse((call,)))
        of = ToolUse((), "call00000", "now", failed=True)
        result = StoredMessage(new_id(), session, answer.id, "tool", "no such zone", 7.0, tools=of)
        late = StoredMessage(new_id(), session, result.id, "assistant", "", 8.0)
        for message in (answer, result, late):
            store.add_message(message)
        store.update_message(late.id, content="", tools=ToolUse((call,)))
        store.update_message(late.id, content="Let me see.")
    with Store.open(path) as store:
        assert store.messages(session) == [answer, result, replace(late, content="Let me see.", tools=answer.tools)]


def test_the_newest_message_is_the_head_and_moves_its_session_up(store: Store) -> None:
    session, other = begun(store, created=1.0), begun(store, created=2.0)
    said(store, session, "one", created=3.0)
    last = said(store, session, "  two\n lines  ", created=4.0)
    found = store.sessions()[0]
    assert (found.id, found.head, found.updated) == (session, last, 4.0)
    assert (found.num_messages, found.preview) == (2, "two lines")
    assert store.sessions()[1].id == other
    said(store, session, "imported", created=1.0)
    assert store.sessions()[0].updated == 4.0, "an earlier time leaves it where it was"


def test_a_message_needs_a_session_and_a_parent_in_it(store: Store) -> None:
    session, other = begun(store), begun(store)
    foreign = said(store, other, "foreign")
    for where, parent in ((new_id(), None), (session, foreign), (session, new_id())):
        with pytest.raises(StoreError):
            said(store, where, "lost", parent)
    assert store.messages(session) == []
    found = store.session(session)
    assert found is not None
    assert (found.num_messages, found.head) == (0, None)


def test_an_answer_grows_and_ends_without_losing_what_is_not_given(store: Store) -> None:
    session = begun(store)
    answer = said(store, session, "", role="assistant", state=State.STREAMING)
    store.update_message(answer, content="so far")
    store.update_message(answer, figures="9 tok/s")
    store.update_message(answer, content="so far so good", state=State.WHOLE)
    store.update_message(answer, summary="what was said")
    message = store.messages(session)[0]
    assert message.summary == "what was said"
    assert (message.content, message.state, message.figures) == ("so far so good", State.WHOLE, "9 tok/s")
    found = store.session(session)
    assert found is not None
    assert found.preview == "so far so good"


def test_a_message_that_got_no_answer_is_taken_out_again_and_one_that_was_answered_stays(store: Store) -> None:
    session = begun(store)
    first = said(store, session, "one")
    second = said(store, session, "two", first, role="assistant")
    for kept in (first, new_id()):
        with pytest.raises(StoreError, match="cannot be removed"):
            store.remove_message(kept)
    assert len(store.messages(session)) == 2
    for removed, left in ((second, (first, 1, "one")), (first, (None, 0, ""))):
        store.remove_message(removed)
        found = store.session(session)
        assert found is not None
        assert (found.head, found.num_messages, found.preview) == left
        assert len(store.messages(session)) == left[1]
    assert store.search("two") == []


def test_a_message_that_is_gone_cannot_be_changed(store: Store) -> None:
    with pytest.raises(StoreError, match="no such message"):
        store.update_message(5, content="x")
    store.update_message(5)


def test_the_preview_is_of_the_newest_message_that_is_not_empty(store: Store) -> None:
    session = begun(store)
    question = said(store, session, "a question " + "x" * 500)
    said(store, session, "", question, role="assistant", state=State.STREAMING)
    found = store.session(session)
    assert found is not None
    assert found.preview == ("a question " + "x" * 500)[:120]
    said(store, session, "the newest")
    store.update_message(question, content="an older one, changed")
    found = store.session(session)
    assert found is not None
    assert found.preview == "the newest"


class TestTree:
    """question ─ answer, answer again ─ more;  question asked otherwise ─ its answer."""

    @pytest.fixture
    def tree(self, store: Store) -> dict[str, int]:
        session = begun(store)
        nodes = {"session": session, "question": said(store, session, "question")}
        nodes["answer"] = said(store, session, "answer", nodes["question"], role="assistant")
        nodes["again"] = said(store, session, "again", nodes["question"], role="assistant")
        nodes["more"] = said(store, session, "more", nodes["again"])
        nodes["otherwise"] = said(store, session, "otherwise")
        nodes["its answer"] = said(store, session, "its answer", nodes["otherwise"], role="assistant")
        return nodes

    def branch(self, store: Store, tree: dict[str, int], head: str) -> list[str]:
        return [message.content for message in path_to(store.messages(tree["session"]), tree[head])]

    def test_a_branch_leads_from_the_first_message_to_its_head(self, store: Store, tree: dict[str, int]) -> None:
        assert self.branch(store, tree, "answer") == ["question", "answer"]
        assert self.branch(store, tree, "more") == ["question", "again", "more"]
        assert self.branch(store, tree, "its answer") == ["otherwise", "its answer"]
        assert path_to(store.messages(tree["session"]), None) == []
        assert path_to(store.messages(tree["session"]), new_id()) == []

    def test_regenerated_answers_and_edited_questions_are_siblings(self, store: Store, tree: dict[str, int]) -> None:
        messages = store.messages(tree["session"])
        assert [one.content for one in siblings(messages, tree["again"])] == ["answer", "again"]
        assert [one.content for one in siblings(messages, tree["question"])] == ["question", "otherwise"]
        assert [one.content for one in siblings(messages, tree["more"])] == ["more"]
        assert siblings(messages, new_id()) == []

    def test_another_branch_is_shown_to_its_newest_end(self, store: Store, tree: dict[str, int]) -> None:
        messages = store.messages(tree["session"])
        assert newest_leaf(messages, tree["question"]) == tree["more"]
        assert newest_leaf(messages, tree["answer"]) == tree["answer"]
        assert newest_leaf(messages, tree["otherwise"]) == tree["its answer"]
