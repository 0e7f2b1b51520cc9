"""Structured answers and stories of the corpus are well formed and match the request."""

from __future__ import annotations

import json
import re
import sqlite3
from itertools import islice
from random import Random

import pytest

from builtin_pair import stories, structured
from builtin_pair.chats import ChatSource, Turn
from builtin_pair.sections import choose_words
from builtin_pair.structured_records import wordings


def structured_turns() -> list[Turn]:
    return [turn for chat in islice(structured.chats(Random(1)), 2000) for turn in chat.turns]


def fenced(turns: list[Turn], language: str) -> list[str]:
    found = [re.fullmatch(rf"```{language}\n(.*)\n```", turn.assistant, re.DOTALL) for turn in turns]
    return [match[1] for match in found if match]


def refusal_of(database: sqlite3.Connection, statement: str) -> str:
    try:
        database.execute(f"EXPLAIN {statement}")
    except sqlite3.OperationalError as error:
        return f"{error}: {statement}"
    return ""


@pytest.mark.parametrize("source", [structured.chats, stories.chats])
def test_the_same_seed_gives_the_same_chats(source: ChatSource) -> None:
    assert list(islice(source(Random(7)), 200)) == list(islice(source(Random(7)), 200))


@pytest.mark.parametrize("section", ["json", "select", "create", "count", "table", "set", "sequence"])
def test_every_request_has_many_wordings(section: str) -> None:
    random = Random(0)
    assert len({choose_words(random.choice(wordings()[section]), random) for _ in range(500)}) >= 15


def test_json_answers_parse_and_hold_only_requested_values() -> None:
    texts = fenced(structured_turns(), "json")
    assert len(texts) > 200
    assert all(isinstance(json.loads(text), dict) for text in texts)
    assert all(text == json.dumps(json.loads(text), indent=2) for text in texts)


def test_sql_answers_are_statements_that_sqlite_accepts() -> None:
    texts = fenced(structured_turns(), "sql")
    assert len(texts) > 500
    database = sqlite3.connect(":memory:")
    refusals = [refusal_of(database, text) for text in texts]
    database.close()
    assert [refusal for refusal in refusals if refusal and "no such table" not in refusal] == []


def test_stories_are_short_and_name_what_was_requested() -> None:
    for chat in islice(stories.chats(Random(2)), 1000):
        for turn in chat.turns:
            assert 55 <= len(turn.assistant.split()) <= 120
            named = re.search(r"(?:named|called) ([A-Z]\w+)", turn.user)
            assert named is None or named[1] in turn.assistant
            assert "{" not in turn.user + turn.assistant


def test_held_out_requests_differ_from_those_in_training() -> None:
    for module, low in ((structured, 80), (stories, 50)):
        held = module.held_out(Random(0))
        trained = {turn.user for chat in islice(module.chats(Random(3)), 2000) for turn in chat.turns}
        assert len(held) >= low
        assert not trained & {exercise.prompt for exercise in held}
