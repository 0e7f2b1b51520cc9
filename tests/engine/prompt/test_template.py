"""A chat template comes from a stranger's file: it may format a conversation and nothing else."""

from __future__ import annotations

import sys

import pytest

from specchat_engine import Message, Prompt, TemplateError, ToolCall
from specchat_engine.prompt import template
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
    assert template.SECONDS < 5, "a user waits at most a few seconds"
    monkeypatch.setattr(template, "SECONDS", 0.3)
    with pytest.raises(TemplateError, match=r"too long|more than") as caught:
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


def test_a_template_may_call_itself_for_each_level_of_a_schema_but_not_without_end() -> None:
    macro = "{% macro f(n) %}{{ '.' ~ f(n - 1) if n else '' }}{% endmacro %}"
    assert render(macro + "{{ f(40) }}") == "." * 40
    for endless in ("{{ f(-1) }}", "{% for one in [1] recursive %}{{ loop([1]) }}{% endfor %}"):
        with pytest.raises(TemplateError, match="calls itself more than 64 times"):
            render(macro + endless)


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


TOOLS = ({"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}},)
CALLED = (
    Message("user", "Rain?"),
    Message(
        "assistant", "", (ToolCall("weather", '{"city": "Rome", "days": [1, 2]}', "id1"),), reasoning_content="Hm."
    ),
    Message("tool", "no", tool_call_id="id1", name="weather"),
)
CALLS = (
    "{% if tools %}{% for message in messages %}{% for call in message.tool_calls or [] %}"
    "HERE{% endfor %}{% endfor %}{% endif %}"
)
MAPPING = "{% for key, value in call.function.arguments | items %}{{ key }}={{ value | tojson }};{% endfor %}"


@pytest.mark.parametrize(
    ("call", "rendered"),
    [
        (MAPPING, 'city="Rome";days=[1, 2];'),
        ("{{ call.function.arguments | tojson }}", '{"city": "Rome", "days": [1, 2]}'),
        ("{{ '(' + call.function.arguments + ')' }}", '({"city": "Rome", "days": [1, 2]})'),
        ("{{ call.function.arguments }}", '{"city": "Rome", "days": [1, 2]}'),
        ("{{ call.id }}: {{ call.function.name }} {{ call.function.arguments | tojson }}", "id1: weather "),
    ],
)
def test_arguments_come_as_the_template_reads_them(call: str, rendered: str) -> None:
    text = ChatTemplate(CALLS.replace("HERE", call)).render(Prompt(CALLED, TOOLS))
    assert text.startswith(rendered)


def test_arguments_that_are_no_object_stay_as_they_are() -> None:
    messages = (CALLED[0], Message("assistant", "", (ToolCall("weather", '{"city": '), ToolCall("weather", "7"))))
    template = ChatTemplate(CALLS.replace("HERE", "{{ call.function.arguments | tojson }} "))
    assert template.render(Prompt(messages, TOOLS)) == '"{\\"city\\": " "7" '


def test_calls_are_given_as_text_to_a_template_that_knows_tools_and_no_calls() -> None:
    text = ChatTemplate("{{ tools | length }}{% for m in messages %}[{{ m.content }}]{% endfor %}").render(
        Prompt(CALLED, TOOLS)
    )
    assert text.startswith('1[Rain?][<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"')
    assert text.endswith("[no]")


def test_a_template_gets_all_that_belongs_to_a_result_and_the_reasoning() -> None:
    source = (
        "{{ tools | length }}{% for m in messages %}{{ m.reasoning_content }}|{{ m.thinking }}|{{ m.tool_call_id }}|"
        "{{ m.name }};{% endfor %}"
    )
    assert ChatTemplate(source).render(Prompt(CALLED, TOOLS)) == "1|||;Hm.|||;||id1|weather;"
    thinking = source.replace("m.", "message.").replace(" m ", " message ")
    assert ChatTemplate(thinking).render(Prompt(CALLED, TOOLS)) == "1|||;Hm.|Hm.||;||id1|weather;"


def test_tools_have_all_that_templates_expect() -> None:
    source = "{% for t in tools %}{{ t.type ~ t.function | tojson }}{% endfor %}"
    assert ChatTemplate(source).render(Prompt(CHAT, [{"function": {"name": "f"}}])) == (
        'function{"name": "f", "description": "", "parameters": {"type": "object", "properties": {}}}'
    )


def test_variables_reach_the_template_but_replace_nothing_of_the_models() -> None:
    source = "{{ bos_token }}{{ enable_thinking }} {{ messages | length }} {{ add_generation_prompt }}"
    template = ChatTemplate(source, bos="<s>")
    assert template.render(Prompt(CHAT, variables={"enable_thinking": False})) == "<s>False 4 True"
    replacing = {"bos_token": "x", "messages": [], "add_generation_prompt": False}
    assert template.render(Prompt(CHAT, variables=replacing)) == "<s> 4 False"


def test_a_system_message_that_the_template_refuses_becomes_part_of_the_question() -> None:
    refusing = "{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    template = ChatTemplate(f"{{% for m in messages %}}{refusing}[{{{{ m.content }}}}]{{% endfor %}}")
    assert template.render(CHAT) == "[Be brief.\n\nHi][Hello.][Bye]"
    assert template.render(CHAT[1:]) == "[Hi][Hello.][Bye]"


def test_what_marks_an_answer_for_training_is_passed_over() -> None:
    source = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %};{% endfor %}"
    assert render(source) == "Be brief.;Hi;Hello.;Bye;"


PARTS = (
    "{% for message in messages %}{{ message['role'] | capitalize }}:{% for line in message['content'] %}"
    "{% if line['type'] == 'text' %} {{ line['text'] }}{% elif line['type'] == 'image' %}<image>{% endif %}{% endfor %}"
    "<end>\n{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
)


def test_a_template_that_reads_lists_of_parts_gets_them() -> None:
    talk = [Message("system", "Be kind"), Message("user", "Hi"), Message("assistant", "Yes"), Message("user", "And?")]
    assert ChatTemplate(PARTS).render(talk) == (
        "System: Be kind<end>\nUser: Hi<end>\nAssistant: Yes<end>\nUser: And?<end>\nAssistant:"
    )


def test_a_template_that_reads_texts_too_gets_texts() -> None:
    both = PARTS.replace(
        "{% for line in", "{% if message['content'] is string %}={{ message['content'] }}{% else %}{% for line in", 1
    )
    both = both.replace("{% endif %}{% endfor %}<end>", "{% endif %}{% endfor %}{% endif %}<end>", 1)
    assert ChatTemplate(both).render([Message("user", "Hi")]) == "User:=Hi<end>\nAssistant:"


@pytest.mark.parametrize(
    ("source", "prompt"),
    [
        (FALLBACK, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n1. one\n2. "),
        (
            "{% for m in messages %}({{ m.role }}){{ '<think></think>' if m.role == 'assistant' and loop.last }}"
            "{{ m.content | trim }}(end){% endfor %}{% if add_generation_prompt %}(assistant)<think>{% endif %}",
            "(user)Hi(end)(assistant)<think></think>1. one\n2. ",
        ),
        (PARTS, "User: Hi<end>\nAssistant: 1. one\n2. "),
    ],
)
def test_an_answer_at_the_end_is_continued(source: str, prompt: str) -> None:
    talk = (Message("user", "Hi"), Message("assistant", "1. one\n2. "))
    assert ChatTemplate(source).render(talk) == prompt


def test_an_empty_answer_at_the_end_is_none() -> None:
    for source in (FALLBACK, PARTS):
        template = ChatTemplate(source)
        assert template.render((Message("user", "Hi"), Message("assistant", ""))) == template.render(CHAT[1:2])


def test_an_answer_that_the_template_leaves_out_is_not_continued() -> None:
    source = "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}"
    with pytest.raises(TemplateError, match="ask with a message of the user"):
        ChatTemplate(source).render((Message("user", "Hi"), Message("assistant", "1.")))
