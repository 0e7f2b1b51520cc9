"""A chat template shows how its model writes calls and reasoning. The templates here are abridged from real ones."""

from __future__ import annotations

import pytest

from specchat_engine.answers.format import AnswerFormat
from specchat_engine.prompt.template import FALLBACK

QWEN3 = (
    "{% if tools %}{{ tools | tojson }}<tool_call>{% endif %}{% if enable_thinking is false %}<think>\n\n</think>"
    "{% endif %}"
)
CODER = "{% for tool in tools %}{{ tool }}{% endfor %}<tool_call>\n<function=f>\n<parameter=p>\n"
LLAMA31 = "{% if builtin_tools %}<|python_tag|>{% endif %}{% if tools %}{{ '\"parameters\": ' }}{% endif %}"
LLAMA32 = "{% if tools %}{{ '{\"name\": \"' + name + '\", ' }}{{ '\"parameters\": ' }}{% endif %}"
NEMO = "{% if tools %}[AVAILABLE_TOOLS]{% endif %}[TOOL_CALLS][{{ calls }}]"
SMALL = "{% if tools %}[TOOL_CALLS]{{ name }}[CALL_ID]{{ id }}[ARGS]{{ arguments }}{% endif %}"
MINISTRAL = "{% if tools %}[TOOL_CALLS]{{ name }}[ARGS]{{ arguments }}{% endif %}[THINK]{{ thinking }}[/THINK]"
GLM = "{% if tools %}<tool_call>{function-name}\n<arg_key>{arg-key-1}</arg_key>\n<arg_value>{{ value }}{% endif %}"
DEEPSEEK_V3 = (
    "{% if tools %}<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>name\n```json\n{% endif %}"
)
DEEPSEEK_V31 = "{% if tools %}<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>name<｜tool▁sep｜>arguments{% endif %}"
KIMI = "{{ tools | tojson }}<|tool_calls_section_begin|><|tool_call_begin|>{{ id }}<|tool_call_argument_begin|>"
GEMMA = "{% for tool in tools %}{% endfor %}{{- '<|channel>thought\n' -}}{{- '<|tool_call>call:' + name + '{' -}}"
GPT_OSS = "{% if tools %}<|start|>assistant<|channel|>analysis<|message|>{% endif %}"


@pytest.mark.parametrize(
    ("template", "calls"),
    [
        (FALLBACK, "hermes"),
        ("", "hermes"),
        (QWEN3, "hermes"),
        (CODER, "qwen3-coder"),
        (LLAMA31, "llama3"),
        (LLAMA32, "llama3"),
        (NEMO, "mistral"),
        (SMALL, "mistral-ids"),
        (MINISTRAL, "mistral-args"),
        (GLM, "glm"),
        (DEEPSEEK_V3, "deepseek-r1"),
        (DEEPSEEK_V31, "deepseek-v3.1"),
        (DEEPSEEK_V31.replace("if tools", "if message.tool_calls"), "hermes"),
        (KIMI, "kimi-k2"),
        (GEMMA, "gemma4"),
        (GPT_OSS, "harmony"),
        ('{% if tools %}<minimax:tool_call>\n<invoke name="{{ name }}">{% endif %}', "minimax-m2"),
        ('{% if tools %}<function name="{{ name }}"><param name="{{ key }}">{% endif %}', "minicpm5"),
        ('{{ tools }}<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": {}}]', "cohere"),
        ('{{ tools }}<|function_call|>{"name": "f", "arguments": {}}', "gigachat"),
        ("{% if tools %}in words of its own{% endif %}", "json"),
    ],
)
def test_the_notation_of_calls_is_recognised(template: str, calls: str) -> None:
    assert AnswerFormat.of(template).calls == calls


def test_the_tags_of_reasoning_are_recognised() -> None:
    assert AnswerFormat.of(QWEN3).thinking == AnswerFormat.of(FALLBACK).thinking == ("<think>", "</think>")
    assert AnswerFormat.of(MINISTRAL).thinking == ("[THINK]", "[/THINK]")
    assert AnswerFormat.of(GEMMA).thinking == ("<|channel>thought", "<channel|>")


def test_a_model_thinks_if_its_template_has_the_tags() -> None:
    assert all(AnswerFormat.of(template).thinks for template in (QWEN3, MINISTRAL, GEMMA, GPT_OSS))
    assert not any(AnswerFormat.of(template).thinks for template in (FALLBACK, "", CODER, LLAMA32, NEMO, KIMI))


def test_the_marks_are_what_the_parser_needs_to_see() -> None:
    assert {"<think>", "</think>", "<tool_call>", "</tool_call>"} <= {*AnswerFormat.of(QWEN3).marks}
    assert {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]"} <= {*AnswerFormat.of(MINISTRAL).marks}
    assert {"<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", '<|"|>'} <= {*AnswerFormat.of(GEMMA).marks}
    assert {"<|channel|>", "<|message|>", "<|start|>", "<|end|>"} <= {*AnswerFormat.of(GPT_OSS).marks}


def test_those_around_reasoning_are_told_apart() -> None:
    assert AnswerFormat.of(MINISTRAL).reasoning_marks == ("[THINK]", "[/THINK]")
    assert AnswerFormat.of(GEMMA).reasoning_marks == ("<|channel>", "<channel|>")
    assert AnswerFormat.of(GPT_OSS).reasoning_marks == AnswerFormat.of(GPT_OSS).marks


@pytest.mark.parametrize("template", [QWEN3, LLAMA31, NEMO, SMALL, KIMI])
def test_the_tags_of_all_notations_are_marks(template: str) -> None:
    marks = AnswerFormat.of(template).marks
    pairs = {"<tool_call>", "</tool_call>", "<tool_calls>", "</tool_calls>", "<TOOLCALL>", "</TOOLCALL>"}
    assert pairs | {"<|tool_call|>", "<|python_tag|>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"} <= {*marks}
    assert {"<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"} <= {*marks}
    deepseek = {"calls▁begin", "call▁begin", "sep", "call▁end", "calls▁end"}
    assert {f"<｜tool▁{name}｜>" for name in deepseek} <= {*marks}
    kimi = {"calls_section_begin", "call_begin", "call_argument_begin", "call_end", "calls_section_end"}
    assert {f"<|tool_{name}|>" for name in kimi} <= {*marks}
    assert len(marks) == len({*marks})
    assert all(marks)
