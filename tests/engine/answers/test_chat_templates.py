"""The way of a call through two chat templates: what the model wrote is read, and is sent again as it was written.

The templates say what those of Qwen 2.5 and Llama 3.1 say about tools. The answers are as these models write them.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from specchat_engine import Prompt, ToolCall
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.parser import parse_answer
from specchat_engine.prompt.messages import Message
from specchat_engine.prompt.template import ChatTemplate

QWEN = """
{%- if tools %}<|im_start|>system
# Tools
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == "assistant" and message.tool_calls %}<|im_start|>assistant
{%- if message.content %}
{{ message.content }}
{%- endif %}
{%- for tool_call in message.tool_calls %}
{%- if tool_call.function is defined %}{% set tool_call = tool_call.function %}{% endif %}
{{- '\\n<tool_call>\\n' -}}
{"name": "{{ tool_call.name }}", "arguments": {{ tool_call.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% elif message.role == "tool" %}
{%- if loop.index0 == 0 or messages[loop.index0 - 1].role != "tool" %}<|im_start|>user{% endif %}
{{- '\\n<tool_response>\\n' -}}
{{ message.content }}
</tool_response>
{%- if loop.last or messages[loop.index0 + 1].role != "tool" %}<|im_end|>
{% endif %}
{%- else %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

LLAMA = """
{%- for message in messages %}
{%- if message.role == "user" and tools and loop.first %}<|start_header_id|>user<|end_header_id|>

Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.

{% for tool in tools %}{{ tool | tojson(indent=4) }}

{% endfor %}{{ message.content }}<|eot_id|>
{%- elif message.tool_calls %}
{%- if message.tool_calls | length != 1 %}{{ raise_exception("only single tool-calls at once") }}{% endif %}
{%- set tool_call = message.tool_calls[0].function %}<|start_header_id|>assistant<|end_header_id|>

{{ '{"name": "' + tool_call.name + '", ' }}{{ '"parameters": ' }}{{ tool_call.arguments | tojson }}{{ "}" }}<|eot_id|>
{%- elif message.role == "tool" %}<|start_header_id|>ipython<|end_header_id|>

{{ message.content }}<|eot_id|>
{%- else %}<|start_header_id|>{{ message.role }}<|end_header_id|>

{{ message.content }}<|eot_id|>
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>

{% endif %}"""


class Model(NamedTuple):
    """A template, what its model writes, and how the prompt after the result goes on after the call."""

    template: str
    answer: str
    result: str


QWEN_ANSWER = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome", "days": 2}}\n</tool_call>'
LLAMA_ANSWER = '{"name": "weather", "parameters": {"city": "Rome", "days": 2}}'
MODELS = [
    Model(
        QWEN,
        QWEN_ANSWER,
        "<|im_end|>\n<|im_start|>user\n<tool_response>\nno rain\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
    ),
    Model(
        LLAMA,
        LLAMA_ANSWER,
        "<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\nno rain<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
]
TOOLS = (
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Returns the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
        },
    },
)
QUESTION = Message("user", "Rain in Rome?")


@pytest.mark.parametrize("model", MODELS, ids=["qwen", "llama"])
def test_the_prompt_has_the_tool_and_the_call_is_read_and_sent_again(model: Model) -> None:
    template = ChatTemplate(model.template)
    asked = template.render(Prompt((QUESTION,), TOOLS))
    assert '"name": "weather"' in asked
    assert '"days": {' in asked
    answer = parse_answer(model.answer, AnswerFormat.of(model.template), TOOLS)
    (call,) = answer.tool_calls
    assert (call.name, json.loads(call.arguments), answer.content) == ("weather", {"city": "Rome", "days": 2}, "")
    called = Message("assistant", "", (call,))
    result = Message("tool", "no rain", tool_call_id="call00000", name="weather")
    assert template.render(Prompt((QUESTION, called, result), TOOLS)) == f"{asked}{model.answer}{model.result}"


@pytest.mark.parametrize("model", MODELS, ids=["qwen", "llama"])
def test_without_tools_the_same_text_is_an_answer(model: Model) -> None:
    answer = parse_answer(model.answer, AnswerFormat.of(model.template))
    assert answer.tool_calls == ()
    assert answer.content == model.answer


def test_two_calls_and_their_results_keep_their_order() -> None:
    two = f"Both at once.\n{QWEN_ANSWER}\n{QWEN_ANSWER.replace('Rome', 'Oslo')}"
    answer = parse_answer(two, AnswerFormat.of(QWEN), TOOLS)
    assert [json.loads(call.arguments)["city"] for call in answer.tool_calls] == ["Rome", "Oslo"]
    assert answer.content.strip() == "Both at once."
    calls = tuple(ToolCall(call.name, call.arguments, f"id{number}") for number, call in enumerate(answer.tool_calls))
    results = tuple(Message("tool", text, tool_call_id=call.id) for text, call in zip("ab", calls, strict=True))
    prompt = ChatTemplate(QWEN).render(Prompt((QUESTION, Message("assistant", "", calls), *results), TOOLS))
    places = [prompt.index(text) for text in ('"Rome", "days"', '"Oslo"', "\na\n</tool", "\nb\n</tool")]
    assert places == sorted(places)
    assert prompt.count("<|im_start|>user") == 2
