"""Whatever is done to a store in whatever order, it answers as a few Python dictionaries would."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from specchat.errors import StoreError
from specchat.store import State, Store, StoredMessage, StoredSession, new_id, path_to
from specchat.store.records import preview_of

TEXTS = st.sampled_from(["", "fox", "Fóx runs", " two\n lines ", "a\0b", "世界", "x" * 300])
WORDS = ("fox", "runs", "two", "世")
FINAL = (State.WHOLE, State.STOPPED, State.CUT)


class AnyOrder(RuleBasedStateMachine):
    """Two connections, of which now one and now the other writes, and the model of both."""

    session_ids: Bundle[int] = Bundle("session_ids")
    message_ids: Bundle[int] = Bundle("message_ids")

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.stores = [Store.open(self.folder / "sessions.db") for _ in range(2)]
        self.now = 1.0
        self.sessions: dict[int, StoredSession] = {}
        self.deleted: dict[int, float] = {}
        self.messages: dict[int, StoredMessage] = {}
        """In the order in which they were added."""

    def teardown(self) -> None:
        if hasattr(self, "stores"):
            for store in self.stores:
                store.close()
            shutil.rmtree(self.folder)

    @property
    def store(self) -> Store:
        """The one whose turn it is."""
        self.now += 1.0
        self.stores.reverse()
        return self.stores[0]

    @rule(target=session_ids, title=TEXTS, seed=st.none() | st.integers(0, 2**64 - 1))
    def create(self, title: str, seed: int | None) -> int:
        session = StoredSession(new_id(), title, self.now, self.now, seed=seed, settings={"k": 3})
        self.store.create(session)
        self.sessions[session.id] = session
        return session.id

    def change(self, session: int, **values: object) -> None:
        self.sessions[session] = replace(self.sessions[session], **values)  # type: ignore[arg-type]

    def settle(self, session: int) -> None:
        """The count and the preview follow from the messages."""
        own = [message for message in self.messages.values() if message.session == session]
        shown = next((preview_of(message.content) for message in reversed(own) if message.content), "")
        self.change(session, num_messages=len(own), preview=shown)

    @rule(session=session_ids, title=TEXTS)
    def rename(self, session: int, title: str) -> None:
        if session in self.sessions:
            self.store.rename(session, title)
            self.change(session, title=title)

    @rule(session=session_ids)
    def touch(self, session: int) -> None:
        if session in self.sessions:
            self.store.touch(session, self.now)
            self.change(session, updated=self.now)

    @rule(session=session_ids, system=st.none() | TEXTS)
    def set_system(self, session: int, system: str | None) -> None:
        if session in self.sessions:
            self.change(session, system=system)
            self.store.change(self.sessions[session])

    @rule(target=message_ids, session=session_ids, content=TEXTS, state=st.sampled_from(State))
    def say_first(self, session: int, content: str, state: State) -> int:
        return self.add(session, None, content, state)

    @rule(target=message_ids, parent=message_ids, content=TEXTS, state=st.sampled_from(State))
    def say_below(self, parent: int, content: str, state: State) -> int:
        """An answer, a further question or, where there is one already, a branch."""
        session = self.messages[parent].session if parent in self.messages else -1
        return self.add(session, parent, content, state)

    def add(self, session: int, parent: int | None, content: str, state: State) -> int:
        message = StoredMessage(new_id(), session, parent, "user", content, self.now, state)
        store = self.store
        if session not in self.sessions:
            with pytest.raises(StoreError):
                store.add_message(message)
            return message.id
        store.add_message(message)
        self.messages[message.id] = message
        self.change(session, head=message.id, updated=max(self.sessions[session].updated, message.created))
        self.settle(session)
        return message.id

    @rule(message=message_ids, content=st.none() | TEXTS, state=st.none() | st.sampled_from(State))
    def update(self, message: int, content: str | None, state: State | None) -> None:
        if message not in self.messages:
            return
        self.store.update_message(message, content=content, state=state)
        before = self.messages[message]
        self.messages[message] = replace(
            before,
            content=before.content if content is None else content,
            state=state or before.state,
        )
        self.settle(before.session)

    @rule(message=message_ids)
    def remove(self, message: int) -> None:
        store = self.store
        if message not in self.messages or any(one.parent == message for one in self.messages.values()):
            with pytest.raises(StoreError):
                store.remove_message(message)
            return
        store.remove_message(message)
        gone = self.messages.pop(message)
        if self.sessions[gone.session].head == message:
            self.change(gone.session, head=gone.parent)
        self.settle(gone.session)

    @rule(message=message_ids)
    def show(self, message: int) -> None:
        if message in self.messages:
            session = self.messages[message].session
            self.change(session, head=message)
            self.store.change(self.sessions[session])

    @rule(session=session_ids)
    def delete(self, session: int) -> None:
        if session in self.sessions:
            self.store.delete(session, at=self.now)
            self.deleted[session] = self.now

    @rule(session=session_ids)
    def undo_delete(self, session: int) -> None:
        store = self.store
        if session in self.sessions:
            store.undo_delete(session)
            self.deleted.pop(session, None)
        else:
            with pytest.raises(StoreError):
                store.undo_delete(session)

    @precondition(lambda self: self.deleted)
    @rule(age=st.integers(0, 5))
    def purge(self, age: int) -> None:
        now = self.now
        old = {session for session, at in self.deleted.items() if at <= now - age}
        assert self.store.purge(age, now) == len(old)
        for session in old:
            del self.deleted[session], self.sessions[session]
        self.messages = {id_: one for id_, one in self.messages.items() if one.session not in old}

    @rule()
    def fail_half_way(self) -> None:
        store = self.store
        if self.sessions:
            self.break_off(store, next(iter(self.sessions)))

    def break_off(self, store: Store, session: int) -> None:
        try:
            with store.together():
                store.rename(session, "never")
                store.create(StoredSession(session))
        except StoreError:
            return
        raise AssertionError("an id was given twice")

    @rule(which=st.integers(0, 1))
    def start_again(self, which: int) -> None:
        """One of the two applications ends and another begins: what it was writing is cut."""
        store = self.stores[which]
        mine = {row[0] for row in store._rows("SELECT id FROM messages WHERE writer = ?", (self.writer(store),))}
        store.close()
        self.stores[which] = Store.open(self.folder / "sessions.db")
        for message in mine:
            self.messages[message] = replace(self.messages[message], state=State.CUT)

    @staticmethod
    def writer(store: Store) -> int:
        assert store._writer is not None
        return store._writer.id

    @invariant()
    def both_answer_as_the_model(self) -> None:
        if not hasattr(self, "stores"):
            return
        visible = [session for session in self.sessions.values() if session.id not in self.deleted]
        expected = sorted(visible, key=lambda session: (-session.updated, session.id))
        for store in self.stores:
            assert store.sessions(1000) == expected
            assert store.num_sessions() == len(expected)
            for session in self.sessions.values():
                messages = [one for one in self.messages.values() if one.session == session.id]
                assert store.messages(session.id) == messages
                path = path_to(messages, session.head)
                assert (path[-1].id if path else None) == session.head
        for word in WORDS:
            assert {hit.session.id for hit in self.stores[0].search(word, 1000)} == self.with_word(visible, word)

    def with_word(self, visible: list[StoredSession], word: str) -> set[int]:
        def holds(text: str) -> bool:
            plain = text.casefold().replace("ó", "o")
            return word in plain if word == "世" else any(one.startswith(word) for one in plain.split())

        shown = {session.id for session in visible}
        titled = {session.id for session in visible if holds(session.title)}
        indexed = (*FINAL, State.STREAMING) if word == "世" else FINAL
        said = {one.session for one in self.messages.values() if one.state in indexed and holds(one.content)}
        return titled | (said & shown)


AnyOrder.TestCase.settings = settings(max_examples=25, stateful_step_count=25)
TestAnyOrder = AnyOrder.TestCase
