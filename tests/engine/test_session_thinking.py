"""How much a model thinks is a setting that reaches the chat template, and the reasoning has figures of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specchat_engine import Message, Prompt, Session, SettingError, Settings
from specchat_engine.prompt.template import FALLBACK
from support.conversations import ask, conversation, letters, saying

QWEN = FALLBACK.replace(
    "{% endif %}",
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}",
)
OPENING = FALLBACK.replace("assistant\n", "assistant\n{% if thinking %}<think>{% endif %}")
QUESTION = (Message("user", "hello"),)


def prompt_of(session: Session) -> str:
    """The prompt's text, without control tokens."""
    return bytes(token for token in session.prompt_ids if token < 256).decode()


def answer(session: Session, asked: Any = QUESTION, **given: Any) -> None:
    for _ in session.answer(asked, 0, **given):
        pass


@pytest.mark.parametrize(
    ("level", "variables"), [("off", {"enable_thinking": False}), ("low", {"enable_thinking": True})]
)
def test_the_level_reaches_the_template_and_the_trace(level: str, variables: dict[str, bool]) -> None:
    session = conversation(letters(), template=QWEN, thinking=level)
    ask(session)
    assert ("</think>" in prompt_of(session)) is (level == "off")
    start = session.start_line()
    assert (start["variables"], start["params"]["thinking"]) == (variables, level)
    assert session.notices == []


def test_auto_leaves_it_to_the_template() -> None:
    session = conversation(letters(), template=QWEN)
    ask(session)
    assert "variables" not in session.start_line()
    assert "</think>" not in prompt_of(session)


def test_the_level_changes_between_two_turns() -> None:
    session = conversation(letters(), template=QWEN, thinking="off")
    answer(session)
    session.settings = replace(session.settings, thinking="on")
    answer(session)
    assert "</think>" not in prompt_of(session)


def test_a_variable_that_the_prompt_has_comes_before_the_setting() -> None:
    session = conversation(letters(), template=QWEN, thinking="on")
    answer(session, Prompt(QUESTION, variables={"enable_thinking": False}))
    assert "</think>" in prompt_of(session)


def test_a_template_without_a_switch_says_so_once_and_changes_nothing() -> None:
    plain, asked = conversation(letters(), seed=3), conversation(letters(), seed=3, thinking="high")
    assert ask(asked) == ask(plain)
    assert asked.prompt_ids == plain.prompt_ids
    assert len(asked.notices) == 1
    assert "no switch" in asked.notices[0]
    ask(asked)
    assert asked.notices == []
    asked.settings = replace(asked.settings, thinking="off")
    ask(asked)
    assert len(asked.notices) == 1


def test_a_raw_prompt_has_no_template_and_no_notice() -> None:
    session = conversation(letters(), thinking="high")
    answer(session, Prompt(raw="hello"))
    assert session.notices == []


def test_what_is_read_ahead_is_what_the_answer_needs() -> None:
    session = conversation(letters(), template=QWEN, thinking="off")
    session.prepare(QUESTION, bool)
    answer(session)
    assert session.stats.cached_tokens == session.stats.prompt_tokens - 1


def test_the_reasoning_has_figures_of_its_own() -> None:
    session = conversation(saying("<think>well</think>yes"), saying("<think>well</think>yes"), template=QWEN)
    ask(session)
    reasoning = session.end_line()["stats"]["reasoning"]
    assert reasoning["num_tokens"] == len("<think>well</think>")
    assert reasoning["alpha"] == 1.0
    assert 0 < reasoning["decode_ms"] < session.stats.decode_ms


def test_reasoning_that_the_template_opened_is_counted_and_reported_in_the_trace() -> None:
    session = conversation(saying("<think>well</think>yes"), template=OPENING, thinking="on")
    answer(session)
    assert session.start_line()["opens_reasoning"] is True
    assert session.end_line()["stats"]["reasoning"]["num_tokens"] == len("well</think>")
    session.settings = replace(session.settings, thinking="off")
    answer(session)
    assert "opens_reasoning" not in session.start_line()
    assert session.end_line()["stats"]["reasoning"]["num_tokens"] == len("<think>well</think>")


def test_a_branch_inside_the_reasoning_counts_what_its_rounds_bring() -> None:
    session = conversation(saying("<think>well</think>yes"), template=QWEN)
    answer(session, prefix=tuple(b"<think>we"))
    assert session.text == "<think>well</think>yes"
    assert session.stats.reasoning is not None
    assert session.stats.reasoning.num_tokens == len("ll</think>")


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(SettingError, match="use auto, on, off, low, medium or high"):
        Settings(thinking="much")
