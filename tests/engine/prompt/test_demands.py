"""Conversations as clients build them reach every template: what it refuses is moved or joined, and nothing is lost."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import Message, Prompt, ToolCall
from specchat_engine.prompt.template import FALLBACK, ChatTemplate

REFUSE = "{{ raise_exception('no') }}"
ALTERNATING = (
    "{% set first = messages[0].role == 'system' %}{% set others = messages[1:] if first else messages %}"
    "{% for m in others %}"
    f"{{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}}{REFUSE}{{% endif %}}"
    "[{{ messages[0].content ~ '|' if first and loop.first }}{{ m.role[0] }}:{{ m.content }}]{% endfor %}"
)
"""Takes one system message, then user and assistant in turn."""

NO_SYSTEM = (
    f"{{% for m in messages %}}{{% if m.role == 'system' or (m.role == 'user') != (loop.index0 % 2 == 0) %}}{REFUSE}"
    "{% endif %}[{{ m.role[0] }}:{{ m.content }}]{% endfor %}"
)
ONLY_FIRST_SYSTEM = (
    "{% for m in messages if m.role != 'system' or m == messages[0] %}[{{ m.role[0] }}:{{ m.content }}]{% endfor %}"
)
"""Leaves out other system messages without a word."""

TOOLS = ({"type": "function", "function": {"name": "f"}},)
CALLING = (
    "{% if tools %}{% endif %}{% for m in messages %}[{{ m.role[0] }}:{{ m.content }}CALLS]{% endfor %}",
    "{% for c in m.tool_calls or [] %}<{{ c.id }} {{ c.function.arguments | tojson }}>{% endfor %}",
)


def calling(call: str = CALLING[1], before: str = "") -> str:
    """A template that writes calls."""
    return CALLING[0].replace("{% for m in messages %}", "{% for m in messages %}" + before).replace("CALLS", call)


def said(*messages: str) -> list[Message]:
    """Messages written as `s:text`, `u:text` or `a:text`."""
    roles = {"s": "system", "u": "user", "a": "assistant"}
    return [Message(roles[message[0]], message[2:]) for message in messages]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "talk", "rendered"),
    [
        (ALTERNATING, ["s:one", "s:two", "u:hi"], "[one\n\ntwo|u:hi]"),
        (ALTERNATING, ["s:one", "u:hi", "a:yes", "s:two", "u:so"], "[one|u:hi][a:yes][u:two\n\nso]"),
        (ALTERNATING, ["u:hi", "a:yes", "u:so", "s:two"], "[u:hi][a:yes][u:so\n\ntwo]"),
        (ALTERNATING, ["u:hi", "u:so"], "[u:hi\n\nso]"),
        (ALTERNATING, ["s:one", "a:hello", "u:hi"], "[one|u:][a:hello][u:hi]"),
        (ALTERNATING, ["u:hi", "a:yes", "a:no", "u:so"], "[u:hi][a:yes\n\nno][u:so]"),
        (NO_SYSTEM, ["s:one", "s:two", "u:hi"], "[u:one\n\ntwo\n\nhi]"),
        (NO_SYSTEM, ["s:one"], "[u:one]"),
        (NO_SYSTEM, ["s:one", "a:hello", "u:hi"], "[u:one][a:hello][u:hi]"),
        (ONLY_FIRST_SYSTEM, ["s:one", "s:two", "u:hi"], "[s:one\n\ntwo][u:hi]"),
        (ONLY_FIRST_SYSTEM, ["s:one", "u:hi", "a:yes", "s:two"], "[s:one][u:hi][a:yes][u:two]"),
        (ONLY_FIRST_SYSTEM, ["u:hi", "u:so"], "[u:hi][u:so]"),
    ],
)
def test_what_a_template_refuses_or_leaves_out_is_moved_or_joined(source: str, talk: list[str], rendered: str) -> None:
    assert ChatTemplate(source).render(said(*talk)) == rendered


def test_what_a_template_takes_stays_as_it_is() -> None:
    talk = said("s:one", "s:two", "u:hi", "u:so", "a:yes", "a:no", "s:three", "u:go")
    expected = "".join(f"<|im_start|>{message.role}\n{message.content}<|im_end|>\n" for message in talk)
    assert ChatTemplate(FALLBACK).render(talk) == f"{expected}<|im_start|>assistant\n"


def test_a_system_message_that_is_shown_with_the_last_question_alone_is_never_left_out() -> None:
    system = "messages[0].content ~ '|' if m.role == 'user' and loop.last and messages[0].role == 'system'"
    calls = "m.tool_calls[0].function.arguments | tojson if m.tool_calls"
    source = (
        "{% set tools = tools %}{% for m in messages if m.role != 'system' %}"
        f"[{{{{ m.role[0] }}}}:{{{{ {system} }}}}{{{{ m.content }}}}{{{{ {calls} }}}}]{{% endfor %}}"
    )
    template, talk = ChatTemplate(source), said("s:one", "u:hi", "a:yes", "u:so")
    assert template.render(talk) == "[u:hi][a:yes][u:one|so]"
    assert template.render(talk[:3]) == "[u:one\n\nhi][a:yes"
    called = [*talk[:2], Message("assistant", "", CALLS[:1]), RESULTS[0]]
    assert template.render(Prompt(called, TOOLS)) == '[u:one\n\nhi][a:{"n": 1}][t:one]'


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["system", "user", "assistant"]), min_size=1, max_size=7),
    st.sampled_from([ALTERNATING, NO_SYSTEM, ONLY_FIRST_SYSTEM, FALLBACK]),
)
def test_no_text_is_lost_and_none_changes_places(roles: list[str], source: str) -> None:
    talk = [Message(role, f"text{number}") for number, role in enumerate(roles)]  # type: ignore[arg-type]
    if roles[-1] == "assistant":
        talk.append(Message("user", "last"))
    prompt = ChatTemplate(source).render(talk)
    assert re.findall(r"text\d|last", prompt) == [message.content for message in talk]


RESULTS = [Message("tool", "one", tool_call_id="x-1"), Message("tool", "two", tool_call_id="y-2")]
CALLS = (ToolCall("f", '{"n": 1}', "x-1"), ToolCall("f", '{"n": 2}', "y-2"))
QUESTION, CALLED = Message("user", "go"), Message("assistant", "", CALLS)


@pytest.mark.parametrize("results", [RESULTS, RESULTS[::-1]])
def test_calls_are_made_one_after_the_other_where_a_template_takes_one(results: list[Message]) -> None:
    source = calling(before=f"{{% if m.tool_calls and m.tool_calls | length > 1 %}}{REFUSE}{{% endif %}}")
    prompt = ChatTemplate(source).render(Prompt([QUESTION, CALLED, *results, Message("user", "so")], TOOLS))
    assert prompt == '[u:go][a:<x-1 {"n": 1}>][t:one][a:<y-2 {"n": 2}>][t:two][u:so]'
    together = ChatTemplate(calling()).render(Prompt([QUESTION, CALLED, *RESULTS], TOOLS))
    assert together == '[u:go][a:<x-1 {"n": 1}><y-2 {"n": 2}>][t:one][t:two]'


def test_results_have_the_names_of_their_functions() -> None:
    source = calling().replace("m.content }}", "m.content ~ m.name }}")
    prompt = ChatTemplate(source).render(Prompt([QUESTION, CALLED, RESULTS[0], replace(RESULTS[1], name="g")], TOOLS))
    assert prompt.endswith("[t:onef][t:twog]")


def test_a_call_without_a_result_goes_on() -> None:
    source = calling("{{ m.tool_calls[0].id if m.tool_calls }}{{ m.tool_calls[0].function.arguments if m.tool_calls }}")
    prompt = ChatTemplate(source).render(Prompt([QUESTION, CALLED, RESULTS[1]], TOOLS))
    assert prompt.index("x-1") < prompt.index("y-2") < prompt.index("[t:two]")


def test_ids_get_the_form_that_a_template_demands_and_keep_it() -> None:
    demand = f"{{% for c in m.tool_calls or [] %}}{{% if c.id | length != 9 %}}{REFUSE}{{% endif %}}{{% endfor %}}"
    template = ChatTemplate(calling(before=demand).replace("m.content }}", "m.content ~ m.tool_call_id }}"))
    prompts = [template.render(Prompt([*start, CALLED, *RESULTS], TOOLS)) for start in ([QUESTION], [QUESTION] * 2)]
    first, second = re.findall(r"<(\w{9}) ", prompts[0])
    assert first != second
    assert f"[t:one{first}][t:two{second}]" in prompts[0]
    assert prompts[1].endswith(prompts[0].removeprefix("[u:go]"))
    usual = Message("assistant", "", (ToolCall("f", "{}", "abcDEF123"),))
    assert "<abcDEF123 " in template.render(Prompt([QUESTION, usual], TOOLS))


def test_ids_of_any_form_stay_where_a_template_takes_them() -> None:
    assert "<x-1 " in ChatTemplate(calling()).render(Prompt([QUESTION, CALLED], TOOLS))


def test_the_text_beside_a_call_is_a_message_of_its_own_if_it_would_be_left_out() -> None:
    source = calling().replace("{{ m.content }}", "{{ m.content if not m.tool_calls }}")
    answer = Message("assistant", "I look.", CALLS[:1])
    prompt = ChatTemplate(source).render(Prompt([QUESTION, answer, RESULTS[0]], TOOLS))
    assert prompt == '[u:go][a:I look.][a:<x-1 {"n": 1}>][t:one]'


def test_a_question_after_a_result_waits_for_an_answer_where_a_template_demands_one() -> None:
    demand = f"{{% if m.role == 'user' and not loop.first and loop.previtem.role == 'tool' %}}{REFUSE}{{% endif %}}"
    talk = [QUESTION, Message("assistant", "", CALLS[:1]), RESULTS[0], Message("user", "wait")]
    prompt = ChatTemplate(calling(before=demand)).render(Prompt(talk, TOOLS))
    assert prompt.endswith("[t:one][a: ][u:wait]")


@pytest.mark.parametrize("arguments", ['{"city": "Ro', "null", "[1]", "no JSON", ""])
def test_a_conversation_goes_on_after_arguments_that_are_no_object(arguments: str) -> None:
    call = (
        "{% for c in m.tool_calls or [] %}{% for k, v in c.function.arguments | items %}{{ k ~ v }}{% endfor %}!"
        "{% endfor %}"
    )
    talk = [QUESTION, Message("assistant", "", (ToolCall("f", arguments, "x"),)), RESULTS[0], Message("user", "so")]
    assert ChatTemplate(calling(call)).render(Prompt(talk, TOOLS)) == "[u:go][a:!][t:one][u:so]"
