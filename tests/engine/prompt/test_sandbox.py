"""A template from a stranger takes little memory, whatever it asks for. Those of real models work as in Jinja."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from specchat_engine import Message, Prompt, TemplateError
from specchat_engine.prompt.template import ChatTemplate

CHAT = (Message("user", "Hi"), Message("assistant", "<think>hm</think>\n\nHello."), Message("user", "Bye"))

LIMIT = 64 << 20

LARGE = "{% set large = 'x' * 400000 %}"
REPEATED = "{% set n = namespace(s='x', l=[1]) %}{% for i in range(60) %}STEP{% endfor %}"

BOMBS = {
    "center, a filter": "{{ 'x' | center(4000000000) }}",
    "center, a method": "{{ 'x'.center(4000000000) }}",
    "ljust": "{{ 'x'.ljust(4000000000, '.') }}",
    "rjust": "{{ 'x'.rjust(4000000000) }}",
    "zfill": "{{ 'x'.zfill(4000000000) }}",
    "expandtabs": "{{ ('\t' * 1000).expandtabs(4000000) }}",
    "expandtabs by a text": LARGE + "{{ ('\t' * 1000).expandtabs(large) }}",
    "indent": "{{ 'x\ny' | indent(4000000000) }}",
    "indent with a text": LARGE + "{{ ('x\n' * 9999) | indent(large) }}",
    "indent of a block": "{% filter indent(4000000000) %}x\ny{% endfilter %}",
    "% with a width": "{{ '%4000000000d' % 1 }}",
    "% with a precision": "{{ '%.2000000000f' % 1 }}",
    "% with a computed width": "{{ '%*d' % (2000000000, 1) }}",
    "% with many fields": LARGE + "{{ '%(a)s' * 9999 % {'a': large} }}",
    "format, a filter": "{{ '%2000000000d' | format(1) }}",
    "format, a method": "{{ '{:4000000000}'.format(1) }}",
    "format with other digits": "{{ '{:٤٠٠٠٠٠٠٠٠٠}'.format(1) }}",
    "format with a computed width": "{{ '{:{w}}'.format(1, w=4000000000) }}",
    "format with many fields": LARGE + "{{ ('{0}' * 9999).format(large) }}",
    "format_map": "{{ '{a:4000000000}'.format_map({'a': 1}) }}",
    "a product": "{{ 'x' * 4000000000 }}",
    "a product with a list": "{{ 400000000 * [1] }}",
    "a list of a range": "{{ range(999999999) | list }}",
    "an output of many parts": "{% for a in range(99999) %}{{ messages[0].content | center(999) }}{% endfor %}",
    "a product of texts": LARGE + "{{ large * large }}",
    "a product of numbers": "{% set n = namespace(i=9) %}{% for i in range(60) %}{% set n.i = n.i * n.i %}{% endfor %}",
    "a power": "{{ 9 ** 999999999 }}",
    "round": "{{ 1 | round(1000000000, 'ceil') }}",
    "to_bytes": "{{ (1).to_bytes(4000000000, 'big') }}",
    "replace, a filter": LARGE + "{{ large | replace('x', large) }}",
    "replace, a method": LARGE + "{{ large.replace('', large) }}",
    "translate": LARGE + "{{ large.translate({120: large}) }}",
    "join, a filter": LARGE + "{{ range(9999) | join(large) }}",
    "join, a method": LARGE + "{{ large.join('x' * 9999) }}",
    "join of a text": LARGE + "{{ large | join('xy') }}",
    "batch": "{{ [1] | batch(1000000000, 'x') | list }}",
    "batch of a text": LARGE + "{{ [1] | batch(large) | list }}",
    "slice": "{{ [1] | slice(1000000000, 'x') | list }}",
    "sum of lists": "{{ ([range(5000) | list] * 100) | sum(start=[]) }}",
    "wordwrap": LARGE + "{{ 'x y z' | wordwrap(1, wrapstring=large) }}",
    "lipsum": "{{ lipsum(1000000000) }}",
    "a list of characters": "{{ ('日本' * 200000) | list | length }}",
    "many words": "{{ ('ab ' * 99999).split() | length }}",
    "JSON with an indent": "{{ messages | tojson(indent=1000000000) }}",
    "JSON with separators": LARGE + "{{ messages | tojson(separators=(large, large)) }}",
    "a date": "{{ strftime_now('%999999999Y' * 50000) }}",
    "+ in a loop": REPEATED.replace("STEP", "{% set n.s = n.s + n.s %}"),
    "~ in a loop": REPEATED.replace("STEP", "{% set n.s = n.s ~ n.s %}"),
    "~ many times": LARGE + "{{ large " + "~ large" * 800 + " }}",
    "a list in a loop": REPEATED.replace("STEP", "{% set n.l = n.l + n.l %}"),
    "a block in a loop": REPEATED.replace("STEP", "{% set s %}{{ n.s }}{{ n.s }}{% endset %}{% set n.s = s %}"),
    "a macro in a loop": "{% macro d(x) %}{{ x }}{{ x }}{% endmacro %}"
    + REPEATED.replace("STEP", "{% set n.s = d(n.s) %}"),
    "lists of lists": REPEATED.replace("STEP", "{% set n.l = [n.l, n.l] %}") + "{{ n.l }}",
    "lists of lists as JSON": REPEATED.replace("STEP", "{% set n.l = [n.l, n.l] %}") + "{{ n.l | tojson }}",
    "dicts of dicts": REPEATED.replace("STEP", "{% set n.l = {'a': n.l, 'b': n.l} %}") + "{{ n.l ~ '' }}",
    "tuples of tuples": REPEATED.replace("STEP", "{% set n.l = (n.l, n.l) %}") + "{{ n.l | string }}",
    "batches of batches": REPEATED.replace("STEP", "{% set n.l = (n.l + n.l) | batch(99) | list %}") + "{{ n.l }}",
    "texts in a list": LARGE + "{% set n = namespace(l=[]) %}{% for i in range(9999) %}"
    "{% set n.l = n.l + [large ~ i] %}{% endfor %}",
    "texts in a chain": LARGE + "{% set n = namespace(l=0) %}{% for i in range(9999) %}"
    "{% set n.l = namespace(next=n.l, s=large ~ i) %}{% endfor %}",
    "slices of a text": LARGE + "{% set l = [" + "large[1:]," * 800 + "] %}",
    "recursion": LARGE + "{% macro f(x) %}{{ f(x ~ large) }}{% endmacro %}{{ f('') }}",
    "while it compiles": "{% autoescape 'x' | center(4000000000) %}{% endautoescape %}",
    "a long template": "{{ x }}" * 40000,
    "a long list": "{{ [" + "a," * 30000 + "] }}",
}

QWEN = """
{%- if tools %}{{- '<|im_start|>system\\n' }}{%- for tool in tools %}{{- tool | tojson }}{%- endfor %}{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and
        not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == "assistant" and '</think>' in content %}
        {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {{- '<|im_start|>' + message.role + '\\n' }}
        {{- (reasoning.strip('\\n') if loop.index0 > ns.last_query_index else '') + content }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""

LLAMA = """
{{- bos_token }}{%- if not date_string is defined %}{%- set date_string = strftime_now("%d %b %Y") %}{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
        {{- message['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
"""

MISTRAL = """
{%- set loop_messages = messages[1:] if messages[0]["role"] == "system" else messages %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- for message in loop_messages | rejectattr("role", "equalto", "tool") | rejectattr("tool_calls", "defined") %}
    {%- if (message["role"] == "user") != (loop.index0 % 2 == 0) %}
        {{- raise_exception("conversation roles must alternate") }}
    {%- endif %}
    {%- if message["role"] == "user" %}
        {%- if message == user_messages[-1] %}{{- "[AVAILABLE_TOOLS]" }}{%- endif %}
        {{- "[INST] " + message["content"] + "[/INST]" }}
    {%- else %}{{- " " + message["content"] | trim + eos_token }}{%- endif %}
{%- endfor %}
"""

GEMMA = """
{%- macro part(text, first=false) -%}{{ (text | upper if first else text) | trim }}{%- endmacro -%}
{{ bos_token }}{% for message in messages %}
{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}
{{ '<start_of_turn>' ~ role ~ '\n' ~ part(message['content'], loop.first) ~ '<end_of_turn>\n' }}{% endfor %}
{{ '%-8s|%05.1f' % (messages | length, 2.5) }}{{ "{:>6}".format("x") }}{{ '  ' * 3 }}{{ 'x' | center(9) }}
"""

PHI = """
{%- for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}
{{- messages | map(attribute='role') | unique | sort | join(', ') }}{{ messages | tojson(indent=2) | indent(4) }}
{{- {'a': [1, none, true], 'b': 'é'} | tojson(ensure_ascii=False, separators=(',', ':'), sort_keys=True) }}
{%- for key, value in {'type': 'x', 'kinds': ['a', 'b']}.items() %}{{ loop.index }}{{ key }}={{ value }}{% endfor %}
{%- set lines %}{% for m in messages %}{{ m.content | replace('<', '[') }}{{ '\n' }}{% endfor %}{% endset %}
{{- lines.splitlines() | reject('eq', '') | list | length }}{{ lines | length }}
{{- [3, 1] | sum }}{{ 7 // 2 }}{{ -7 % 3 }}
"""


@contextmanager
def little_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < LIMIT
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("source", BOMBS.values(), ids=BOMBS)
def test_a_template_that_asks_for_gigabytes_is_refused_before_it_has_them(source: str) -> None:
    with little_memory(), pytest.raises(TemplateError) as caught:
        ChatTemplate(source).render(CHAT)
    message = str(caught.value)
    assert "template" in message
    assert len(message) < 600
    assert message.splitlines() == [message]


@pytest.mark.parametrize("source", [QWEN, LLAMA, MISTRAL, GEMMA, PHI], ids=["qwen", "llama", "mistral", "gemma", "phi"])
def test_templates_of_real_models_work_as_in_jinja(source: str) -> None:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value, **layout: json.dumps(value, **{"ensure_ascii": False, **layout})
    environment.globals["strftime_now"] = lambda _: "today"
    messages = [{"role": message.role, "content": message.content} for message in CHAT]
    expected = environment.from_string(source).render(
        messages=messages, add_generation_prompt=True, bos_token="<s>", eos_token="</s>", date_string="today"
    )
    source = source.replace('strftime_now("%d %b %Y")', "'today'")
    assert ChatTemplate(source, bos="<s>", eos="</s>").render(CHAT) == expected


def test_a_long_conversation_may_have_a_long_prompt() -> None:
    text = "Ein längerer Absatz, wie er in einem Gespräch steht. " * 400
    messages = [Message("user" if turn % 2 == 0 else "assistant", text) for turn in range(101)]
    source = "{% set n = namespace(s='') %}{% for m in messages %}{% set n.s = n.s + m.content %}{% endfor %}{{ n.s }}"
    assert ChatTemplate(source).render(messages) == text * 101


def test_a_long_message_may_be_cut_into_words() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 9_000
    source = "{{ messages[0].content.split() | length }} {{ messages[0].content.split(' ') | reverse | join(' ') }}"
    assert ChatTemplate(source).render([Message("user", text)]).startswith("81000  dog. lazy the over jumps fox")


def test_a_template_may_be_as_long_as_the_longest_of_real_models() -> None:
    source = (QWEN + LLAMA + MISTRAL + PHI) * 10
    assert len(source) > 30_000
    assert ChatTemplate(source).render(CHAT)


def test_a_namespace_does_not_print_what_it_holds() -> None:
    assert ChatTemplate("{% set n = namespace(a=1) %}{{ n }} {{ n.a }}").render(CHAT) == "<namespace> 1"


def test_a_long_reason_is_cut_short() -> None:
    with pytest.raises(TemplateError) as caught:
        ChatTemplate("{{ raise_exception('no' * 99999) }}").render(CHAT)
    assert len(str(caught.value)) < 600


def test_long_tools_may_have_a_long_prompt() -> None:
    tool = {"type": "function", "function": {"name": "f", "description": "Was die Funktion tut. " * 100}}
    template = ChatTemplate("{% for t in tools %}{{ t | tojson }}{% endfor %}{{ tools | tojson }}")
    assert len(template.render(Prompt(CHAT, [tool] * 600))) > 2 * 600 * 2200
    more = Prompt(CHAT, variables={"more": "x" * 2_000_000})
    assert len(ChatTemplate("{{ more ~ '!' }}").render(more)) == 2_000_001


def test_a_template_cannot_multiply_tools_without_end() -> None:
    tools = [{"type": "function", "function": {"name": "f", "description": "x" * 100_000}}]
    with little_memory(), pytest.raises(TemplateError, match="stopped"):
        ChatTemplate("{% for i in range(99999) %}{{ tools | tojson }}{% endfor %}").render(Prompt(CHAT, tools))
