"""What turns thinking on and off in templates that are built like those of real models."""

from __future__ import annotations

from typing import Any

import pytest

from specchat_engine import Message
from specchat_engine.prompt.template import FALLBACK, ChatTemplate
from specchat_engine.prompt.thinking_switch import ThinkingSwitch
from specchat_engine.settings import THINKING

CHAT = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}"
QWEN3 = CHAT + (
    "{%- if add_generation_prompt %}{{- '<|assistant|>' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}"
    "{%- endif %}"
)
GLM = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}"
    "{{- '/nothink' if (enable_thinking is defined and not enable_thinking) else '' -}}{% endfor %}"
)
DEEPSEEK = (
    "{% if not thinking is defined %}{% set thinking = false %}{% endif %}"
    + CHAT
    + "<|assistant|>{% if thinking %}{{ '<think>' }}{% else %}{{ '</think>' }}{% endif %}"
)
GPT_OSS = (
    "{%- if reasoning_effort is not defined %}{%- set reasoning_effort = 'medium' %}{%- endif %}"
    "{{- 'Reasoning: ' + reasoning_effort + '\\n' }}" + CHAT
)
MISTRAL = (
    "{%- set reasoning_effort = reasoning_effort if reasoning_effort is defined and reasoning_effort is not none"
    " else 'none' %}{%- if reasoning_effort not in ['none', 'high'] %}"
    "{{- raise_exception('reasoning_effort must be none or high') }}{%- endif %}"
    "{{- '[MODEL_SETTINGS]{\"reasoning_effort\": \"' + reasoning_effort + '\"}[/MODEL_SETTINGS]' }}" + CHAT
)
KIMI = (
    "{%- if thinking is undefined -%}{%- set thinking = true -%}{%- endif -%}"
    "{%- if thinking_effort is undefined -%}{%- set thinking_effort = 'max' -%}{%- endif -%}"
    "{%- if thinking and thinking_effort not in ['low', 'medium', 'high', 'max'] -%}"
    "{{- raise_exception('Unsupported thinking_effort=' + thinking_effort) -}}{%- endif -%}"
    "{{- 'thinking_effort=' + thinking_effort if thinking else '' }}" + CHAT + "{{ '<think>' if thinking else '' }}"
)
WITHOUT_HIGH = (
    "{%- set effort = reasoning_effort | default('xhigh') %}{%- if effort not in ['low', 'medium', 'xhigh'] %}"
    "{{- raise_exception('unknown effort') }}{%- endif %}{{ effort }}" + QWEN3
)
OTHERS_MEAN_OFF = (
    "{%- set reasoning_effort = reasoning_effort if reasoning_effort is defined else 'high' %}"
    "{%- set think = reasoning_effort in ['medium', 'high', 'xhigh'] %}"
    + CHAT
    + "{{ '<|think|>' + reasoning_effort if think else '<|think|><|content|>' }}"
)


def given(source: str, level: str) -> dict[str, Any]:
    return ChatTemplate(source).thinking.variables(level)


@pytest.mark.parametrize("source", [QWEN3, GLM])
def test_a_toggle_is_true_for_on_and_for_every_level(source: str) -> None:
    assert given(source, "off") == {"enable_thinking": False}
    for level in ("on", "low", "medium", "high"):
        assert given(source, level) == {"enable_thinking": True}


def test_deepseek_and_others_call_their_toggle_thinking() -> None:
    assert [given(DEEPSEEK, level) for level in ("off", "on")] == [{"thinking": False}, {"thinking": True}]


def test_a_level_is_the_word_for_effort() -> None:
    for level in ("low", "medium", "high"):
        assert given(GPT_OSS, level) == {"reasoning_effort": level}
    assert given(GPT_OSS, "on") == {}, "it always thinks"


def test_a_model_that_always_thinks_does_so_as_little_as_it_can_and_says_that() -> None:
    switch = ChatTemplate(GPT_OSS).thinking
    assert switch.variables("off") == {"reasoning_effort": "low"}
    assert switch.notice("off") == "thinking cannot be turned off for this model: its reasoning_effort is low instead"
    assert switch.notice("low") == switch.notice("on") == ""


def test_one_word_may_turn_thinking_off() -> None:
    switch = ChatTemplate(MISTRAL).thinking
    assert switch.variables("off") == {"reasoning_effort": "none"}
    for level in ("on", "low", "medium", "high"):
        assert switch.variables(level) == {"reasoning_effort": "high"}
    assert switch.notice("off") == ""


def test_a_word_that_the_template_does_not_name_can_turn_thinking_off() -> None:
    assert given(OTHERS_MEAN_OFF, "off") == {"reasoning_effort": "none"}
    assert given(OTHERS_MEAN_OFF, "low") == {"reasoning_effort": "medium"}, "low would turn it off"


def test_a_template_may_have_a_toggle_and_words() -> None:
    assert given(KIMI, "off") == {"thinking": False}
    assert given(KIMI, "on") == {"thinking": True}
    assert given(KIMI, "low") == {"thinking": True, "thinking_effort": "low"}


def test_the_nearest_word_stands_for_one_that_the_template_refuses() -> None:
    assert given(WITHOUT_HIGH, "high") == {"enable_thinking": True, "reasoning_effort": "xhigh"}
    assert given(WITHOUT_HIGH, "low") == {"enable_thinking": True, "reasoning_effort": "low"}


def test_one_word_for_effort_stands_for_every_level() -> None:
    only = "{% if reasoning_effort != 'max' %}{{ raise_exception('no') }}{% endif %}" + CHAT
    assert {ChatTemplate(only).thinking.variables(level)["reasoning_effort"] for level in ("off", "low")} == {"max"}


@pytest.mark.parametrize("source", [QWEN3, GLM, DEEPSEEK, GPT_OSS, MISTRAL, KIMI, WITHOUT_HIGH, OTHERS_MEAN_OFF])
def test_every_level_makes_a_prompt_and_auto_changes_none(source: str) -> None:
    template = ChatTemplate(source)
    for level in THINKING:
        values = template.values([Message("user", "Hi")]) | template.thinking.variables(level)
        assert "Hi" in template.rendered(values)
    assert template.thinking.variables("auto") == {}


@pytest.mark.parametrize(
    "source",
    [
        FALLBACK,
        "{% for message in messages %}{{ message.thinking }}{% endfor %}",
        "{% set enable_thinking = true %}{{ enable_thinking }}",
        "{# enable_thinking #}{{ messages[0].content }}",
        "{{ raise_exception('no') }}{{ reasoning_effort }}",
    ],
)
def test_a_template_without_a_switch_gets_nothing_and_says_so(source: str) -> None:
    switch = ChatTemplate(source).thinking
    assert not switch.exists
    assert all(switch.variables(level) == {} for level in THINKING)
    assert switch.notice("low").startswith("thinking is low, which has no effect")
    assert switch.notice("auto") == ""


def test_no_template_has_no_switch() -> None:
    assert not ThinkingSwitch().exists
