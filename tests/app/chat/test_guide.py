"""Which questions go to the model with a passage of the help."""

from __future__ import annotations

from pathlib import Path

from specchat.chat.guide import with_help
from specchat_assets import TARGET_NAME

GUIDE, OTHER = Path(TARGET_NAME), Path("qwen3-4b.gguf")


def test_the_built_in_guide_gets_a_question_with_the_passage_that_it_quotes() -> None:
    question, source = with_help("How do I quit?", GUIDE)
    assert question.startswith("How do I quit?\n")
    assert "Ctrl+Q" in question
    assert source == "from the help: stopping an answer and quitting"


def test_another_model_gets_the_question_as_it_is() -> None:
    assert with_help("How do I quit?", OTHER) == ("How do I quit?", "")


def test_a_task_goes_to_the_guide_as_it_is() -> None:
    task = "Repeat this text:\n\nHow do I quit?"
    assert with_help(task, GUIDE) == (task, "")
