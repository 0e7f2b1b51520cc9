from __future__ import annotations

import io

from specchat.plain.help import PlainHelp
from specchat.plain.paper import Paper


def shown(*asked: str | None) -> list[str]:
    notes = io.StringIO()
    help_ = PlainHelp(Paper(io.StringIO(), notes))
    for about in asked:
        notes.truncate(notes.seek(0))
        help_.show(about)
    return notes.getvalue().splitlines()


def test_without_words_the_commands_are_listed() -> None:
    lines = shown(None)
    assert lines[0].startswith("/help")
    assert not any(line.startswith("/theme") for line in lines)


def test_a_command_is_described() -> None:
    assert shown("temp") == ["/temp NUMBER: The temperature; 0 is greedy."]


def test_words_are_searched_and_a_number_reads_what_was_found() -> None:
    lines = shown("import chatgpt")
    number = next(line.split(":")[0] for line in lines if ": Stored conversations, Import: " in line)
    assert lines[-1] == "/help and a number reads that."
    read = shown("import chatgpt", number)
    assert read[0] == "Stored conversations, Import:"
    assert any("Open WebUI" in line for line in read)


def test_a_number_that_was_not_listed_is_a_word_to_search_for() -> None:
    searched = shown("1")
    assert searched[0].startswith("1: ")
    assert searched[-1] == "/help and a number reads that."
    assert shown("xyzzyplugh", "1") == searched
    assert shown("import chatgpt", "xyzzyplugh", "1") == searched
    assert shown("xyzzyplugh") == ["The help has nothing about these words."]
