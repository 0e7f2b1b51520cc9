"""What the chat keeps of its conversations, in a real file."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from app.tui.scripted_client import ended, script
from specchat.chat.archive import Archive, session_to_resume
from specchat.chat.conversation import Conversation
from specchat.errors import ConfigError, SpecchatError
from specchat.store.records import State, StoredSession, new_id
from specchat.store.store import Store
from specchat.traces.trace import Trace
from specchat_engine.settings import Settings

PAIR = "guide ⇠ draft"
START = {
    "type": "start",
    "schema": 1,
    "target": {"name": "guide", "n_params": 18_000_000},
    "draft": None,
    "drafter": "model",
    "verifier": "coupled",
    "lossless": True,
    "params": {"k": 4},
    "seed": 7,
    "turn": 0,
    "prompt_tokens": 20,
    "messages": [{"role": "user", "content": "Who?"}],
}


def trace(notation: str = " a b> c|> d") -> Trace:
    rounds = script(notation)
    last = ended(rounds)
    return Trace(START, tuple(rounds), {"type": "end", "reason": "end", "text": last.text, "stats": last.stats})


@asynccontextmanager
async def archive(folder: Path) -> AsyncIterator[Archive]:
    made = Archive(folder / "sessions.db", [].append)
    try:
        yield made
    finally:
        assert made.close()


def asked(archive: Archive, question: str = "Who?") -> Conversation:
    talk = Conversation(StoredSession(new_id(), "A talk", system="Be brief.", seed=7))
    archive.said(talk, talk.ask(question))
    return talk


async def test_tags_are_stored_and_offered_as_they_were_read_last(tmp_path: Path) -> None:
    async with archive(tmp_path) as kept:
        for tags in (("work",), ("home", "work")):
            talk = asked(kept)
            kept.tagged(talk.change(tags=tags))
        assert kept.tags() == []
        await kept.do(Store.num_sessions)  # after what waits
        assert kept.tags() == [("work", "2 sessions"), ("home", "1 session")]


async def test_a_conversation_comes_back_with_its_branches_summary_and_traces(tmp_path: Path) -> None:
    made = trace()
    async with archive(tmp_path) as kept:
        talk = asked(kept)
        kept.summarised(replace(talk.path()[0], summary="what was said"))
        answer = talk.begin_answer()
        kept.said(talk, answer)
        whole = talk.put(replace(answer, content=made.text, state=State.WHOLE, figures="9 tok/s"))
        kept.answered(whole, PAIR, made)
    async with archive(tmp_path) as again:
        found = await again.open(talk.id)
        assert found is not None
        assert [(message.role, message.content, message.summary) for message in found.path()] == [
            ("user", "Who?", "what was said"),
            ("assistant", " a b c d", None),
        ]
        assert found.path()[-1] == whole
        assert (found.session.system, found.session.seed, found.head) == ("Be brief.", 7, whole.id)
        assert await again.trace(whole.id) == made
        assert tuple(again.rounds(whole.id)) == made.rounds
        totals = await again.read(lambda store: store.totals(pair=PAIR))
        assert totals.whole.num_tokens == 4


async def test_a_crash_leaves_what_was_said_so_far(tmp_path: Path) -> None:
    async with archive(tmp_path) as kept:
        talk = asked(kept)
        answer = talk.begin_answer()
        kept.said(talk, answer)
        for text in ("So", "So far", "So far so"):
            kept.grew(answer, text)
    async with archive(tmp_path) as again:
        found = await again.open(talk.id)
        assert found is not None
        last = found.path()[-1]
        assert (last.content, last.state) == ("So far so", State.CUT)


async def test_an_empty_conversation_is_not_kept_and_what_got_no_answer_is_taken_out_again(tmp_path: Path) -> None:
    async with archive(tmp_path) as kept:
        talk = Conversation(StoredSession(new_id()))
        kept.changed(talk.change(system="Be brief."))
        kept.turned(talk.session, Settings())
        assert await kept.do(lambda store: store.num_sessions()) == 0
        talk = asked(kept)
        question = talk.path()[-1]
        answer = talk.begin_answer()
        kept.said(talk, answer)
        kept.unsaid([answer.id, question.id])
        assert await kept.do(lambda store: store.messages(talk.id)) == []


async def test_changes_of_title_seed_branch_and_settings_are_stored(tmp_path: Path) -> None:
    async with archive(tmp_path) as kept:
        talk = asked(kept)
        first = talk.path()[-1]
        kept.said(talk, talk.ask("Why?"))
        talk.rewind_to(first.id)
        kept.changed(talk.change(title="Another", target="a.gguf", seed=2**64 - 1))
        kept.turned(talk.session, Settings(k=3))
        found = await kept.open(talk.id)
        assert found is not None
        assert (found.session.title, found.head, found.session.target) == ("Another", first.id, "a.gguf")
        assert found.session.seed == 2**64 - 1
        assert found.session.settings is not None
        assert found.session.settings["k"] == 3


async def test_reading_a_locked_file_fails_without_waiting(tmp_path: Path) -> None:
    async with archive(tmp_path) as kept:
        talk = asked(kept)
        await kept.open(talk.id)
        locking = sqlite3.connect(tmp_path / "sessions.db", isolation_level=None)
        locking.execute("BEGIN IMMEDIATE")
        kept.said(talk, talk.ask("Why?"))
        with pytest.raises(SpecchatError, match="another program has locked it"):
            await kept.open(talk.id)
        assert kept.rounds(new_id()) == ()
        locking.execute("ROLLBACK")
        locking.close()
    async with archive(tmp_path) as again:
        found = await again.open(talk.id)
        assert found is not None
        assert [message.content for message in found.path()] == ["Who?", "Why?"]


async def test_a_closed_store_refuses_and_a_cancelled_wait_does_not_report_that(tmp_path: Path) -> None:
    async with archive(tmp_path) as kept:
        assert await kept.trace(new_id()) is None
        assert kept.rounds(new_id()) == ()
        search = asyncio.ensure_future(kept.do(lambda _: time.sleep(0.2)))
        await asyncio.sleep(0.05)
        search.cancel()
        with pytest.raises(asyncio.CancelledError):
            await search
        kept.close()
        with pytest.raises(SpecchatError, match="was closed"):
            await kept.do(lambda store: store.num_sessions())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "sessions.db"
    with Store.open(found) as store:
        store.create(StoredSession(2**40 + 11, "first", created=1.0, updated=1.0))
        store.create(StoredSession(2**40 + 12, "second", created=2.0, updated=2.0))
    return found


def test_a_session_is_found_by_its_id_by_its_place_in_the_list_and_as_the_one_that_was_used_last(path: Path) -> None:
    assert session_to_resume(f"{2**40 + 11}", path) == 2**40 + 11
    assert [session_to_resume(place, path) for place in ("1", "2", "last")] == [2**40 + 12, 2**40 + 11, 2**40 + 12]
    with Store.open(path) as store:
        store.touch(2**40 + 11, 3.0)
    assert session_to_resume("last", path) == 2**40 + 11


@pytest.mark.parametrize("asked", ["3", "0", "1099511627789", "first", "-1", "", "9" * 40])
def test_a_session_that_there_is_not_is_refused_in_one_line(path: Path, asked: str) -> None:
    with pytest.raises(ConfigError, match=r"^--resume is .*use last, or"):
        session_to_resume(asked, path)


def test_where_nothing_was_kept_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none was kept yet"):
        session_to_resume("last", tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
