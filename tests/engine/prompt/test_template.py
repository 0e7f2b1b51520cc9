"""A chat template comes from a stranger's file: it may format a conversation and nothing else."""

from __future__ import annotations

import sys
import time

import pytest

from specchat_engine import Message, TemplateError
from specchat_engine.prompt.template import FALLBACK, ChatTemplate

CHAT = (Message("system", "Be brief."), Message("user", "Hi"), Message("assistant", "Hello."), Message("user", "Bye"))


def render(source: str) -> str:
    return ChatTemplate(source).render(CHAT)


def one_line(error: pytest.ExceptionInfo[TemplateError]) -> str:
    message = str(error.value)
    assert message.splitlines() == [message]
    return message


def test_chatml_asks_for_the_next_answer() -> None:
    assert render(FALLBACK) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_template_as_real_files_carry_it() -> None:
    source = (
        "{{- bos_token }}\n{%- if messages[0]['role'] == 'system' %}\n"
        "    {%- set system = messages[0]['content'] | trim %}\n    {%- set messages = messages[1:] %}\n{%- endif %}\n"
        "{%- for message in messages %}\n    {%- if loop.index0 % 2 != (message['role'] != 'user') | int %}\n"
        "        {{- raise_exception('roles must alternate') }}\n    {%- endif %}\n"
        "    {%- if loop.last %}{{- '[' + system + ']' }}{% continue %}{%- endif %}\n"
        "    {{- message.role[0] | upper ~ ': ' ~ message.content.strip() ~ eos_token }}\n{%- endfor %}"
        "{%- if tools is defined %}tools{% endif %}"
    )
    text = ChatTemplate(source, bos="<s>", eos="</s>").render(CHAT)
    assert text == "<s>U: Hi</s>A: Hello.</s>[Be brief.]"


def test_json_and_dates_are_at_hand() -> None:
    text = render("{{ messages[1] | tojson }} {{ strftime_now('%Y') }}")
    assert text.startswith('{"role": "user", "content": "Hi"} 2')


def test_a_message_is_never_read_as_a_template() -> None:
    hostile = (Message("user", "{{ 7 * 7 }}{% for x in y %}"),)
    assert "{{ 7 * 7 }}{% for x in y %}" in ChatTemplate(FALLBACK).render(hostile)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__class__ }}",
        "{{ self.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ raise_exception.__globals__ }}",
        "{{ strftime_now.__globals__['sys'] }}",
        "{{ ''['__cla' ~ 'ss__'] ~ '' }}",
        "{{ (messages | attr('__class__')).__name__ }}",
        "{{ '{0.__class__.__mro__}'.format(messages) }}",
        "{{ '%s' % messages.append(1) }}",
        "{% set x = messages[0].update({'content': 'else'}) %}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
    ],
)
def test_a_template_cannot_leave_its_sandbox(source: str) -> None:
    try:
        text = render(source)
    except TemplateError:
        return
    assert not any(leak in text for leak in ("class", "module", "root:", "uid=", "list"))


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{{ 'x' }}{% endfor %}{% endfor %}",
        "{% macro f(n) %}{% for i in range(9) %}{{ f(n - 1) if n else '' }}{% endfor %}{% endmacro %}{{ f(50) }}",
        "{% for a in range(99999) %}{{ range(99999) | sum }}{% endfor %}",
    ],
)
def test_a_template_that_never_ends_is_stopped(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.prompt.template.SECONDS", 0.3)
    began = time.monotonic()
    with pytest.raises(TemplateError, match=r"too long|more than") as caught:
        render(source)
    assert time.monotonic() - began < 5
    one_line(caught)


def test_a_user_waits_at_most_a_few_seconds_for_a_hostile_template() -> None:
    began = time.monotonic()
    with pytest.raises(TemplateError, match="too long"):
        render("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}")
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'x' * 999999999 }}",
        "{{ 999999 ** 999999 }}",
        "{{ 9 ** messages | length ** 99 }}",
        "{{ [0] * 999999999 }}",
        "{{ range(999999999) | list }}",
        "{% for a in range(99999) %}{{ messages[0].content | center(999) }}{% endfor %}",
    ],
)
def test_a_template_that_would_fill_the_memory_is_rejected(source: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(source)
    one_line(caught)


@pytest.mark.parametrize(
    "source",
    [
        "{{ 1 / 0 }}",
        "{{ messages[99].content.x }}",
        "{{ messages | length + 'x' }}",
        "{{ undefined_thing() }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ messages | tojson(indent='x' ~ messages) | int('a') + [] }}",
        "{{ 'é'.encode('ascii') }}",
        "{{ [1, 'a'] | sort }}",
        "{{ raise_exception('line one\nline two') }}",
        "{{ 'a long text' | truncate(1) }}",
    ],
)
def test_a_template_that_fails_says_so_in_one_line(source: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(source)
    assert "template" in one_line(caught)


def test_an_error_gives_the_templates_own_reason() -> None:
    with pytest.raises(TemplateError, match="refuses the conversation: no system role, please"):
        render("{{ raise_exception('no system role, please') }}")


@pytest.mark.parametrize(
    "source",
    [
        "{% for %}",
        "{{ 'open",
        "{% endfor %}",
        "{{ x | no_such_filter }}",
        "{% unknown %}",
        "{{ " + "x + " * 2000 + "x }}",
        "{{ " + "(" * 3000 + "x" + ")" * 3000 + " }}",
        "".join(f"{{% for x{depth} in y %}}" for depth in range(60)) + "{% endfor %}" * 60,
        "{{ " + "-" * 5000 + "x }}",
        "{% if x %}" * 500 + "{% endif %}" * 500,
    ],
    ids=["for", "string", "endfor", "filter", "tag", "sum", "parentheses", "loops", "signs", "ifs"],
)
def test_a_template_that_does_not_parse_is_rejected_in_one_line(source: str) -> None:
    with pytest.raises(TemplateError, match="does not parse") as caught:
        ChatTemplate(source)
    one_line(caught)


def test_a_debugger_or_a_coverage_tool_keeps_its_trace_function() -> None:
    before = sys.gettrace()
    render(FALLBACK)
    with pytest.raises(TemplateError):
        render("{{ 1 / 0 }}")
    assert sys.gettrace() is before


def test_a_template_keeps_nothing_between_two_conversations() -> None:
    template = ChatTemplate(
        "{% set n = namespace(i=0) %}{% for m in messages %}{% set n.i = n.i + 1 %}{% endfor %}{{ n.i }}"
    )
    assert [template.render(CHAT), template.render(CHAT[:1]), template.render(CHAT)] == ["4", "1", "4"]
