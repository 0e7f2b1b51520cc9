"""Which questions go to the model with a passage of the help."""

from __future__ import annotations

from pathlib import Path

from specchat.chat.guide import docs_words, with_help
from specchat_assets import TARGET_NAME

GUIDE, OTHER = Path(TARGET_NAME), Path("qwen3-4b.gguf")


def test_the_built_in_guide_gets_a_question_with_the_passage_that_it_quotes() -> None:
    question, source = with_help("How do I quit?", GUIDE)
    assert question.startswith("How do I quit?\n")
    assert "Ctrl+Q" in question
    assert source == "from the help: stopping an answer and quitting"


def test_another_model_gets_the_question_and_the_guide_a_task_as_it_is() -> None:
    assert with_help("How do I quit?", OTHER) == ("How do I quit?", "")
    task = "Repeat this text:\n\nHow do I quit?"
    assert with_help(task, GUIDE) == (task, "")


DOES_NOT_KNOW = "I do not know that. I am specchat's small built-in guide."


def test_where_the_guide_does_not_know_the_docs_are_searched_by_the_words_of_the_question() -> None:
    assert docs_words("How do I connect an MCP server?", DOES_NOT_KNOW, GUIDE) == "connect MCP server"
    assert docs_words("@a.png How do I connect @b.pdf an MCP server?", DOES_NOT_KNOW, GUIDE) == "connect MCP server"
    question = "server " + " ".join(f"word{number}" for number in range(30))
    words = docs_words(question, DOES_NOT_KNOW, GUIDE)
    assert len(words) <= 60
    assert words.split()[-1] in question.split()


def test_no_search_is_offered_for_what_is_answered_for_other_models_and_where_the_docs_have_nothing() -> None:
    assert docs_words("How do I connect an MCP server?", "With /tools.", GUIDE) == ""
    assert docs_words("How do I connect an MCP server?", DOES_NOT_KNOW, OTHER) == ""
    assert docs_words("Xyzzyplugh?", DOES_NOT_KNOW, GUIDE) == ""
    assert docs_words("What is it?", DOES_NOT_KNOW, GUIDE) == ""
    assert docs_words("what is 12 * 7", DOES_NOT_KNOW, GUIDE) == ""
