"""Reasoning, content and calls are told apart in what models write, wherever the stream is cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from specchat_engine import ToolCall
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.parser import Answer, AnswerParser, parse_answer
from specchat_engine.answers.parts import AnswerPart, PartKind
from support.streamed_answers import JSON_VALUES, parts_however_cut

PROPERTIES = {
    "city": {"type": "string"},
    "days": {"type": "integer"},
    "where": {"type": "object"},
    "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "kind": {"enum": ["1", "2"]},
}
TOOLS = (
    {"type": "function", "function": {"name": "weather", "parameters": {"properties": PROPERTIES}}},
    {"type": "function", "function": {"name": "now"}},
)
ROME = '{"city": "Rome"}'
CALL = ToolCall("weather", ROME)
HERMES, HARMONY = AnswerFormat(), AnswerFormat("harmony")
OBJECT = '{"name": "weather", "arguments": {"city": "Rome"}}'
LLAMA = OBJECT.replace("arguments", "parameters")
QWEN = (
    "<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
    "</function>\n</tool_call>"
)


def parsed(text: str, calls: str = "hermes", *, thinking: bool = False) -> Answer:
    return parse_answer(text, AnswerFormat(calls), TOOLS, thinking=thinking)


CALLS = [
    f"<tool_call>\n{OBJECT}\n</tool_call>",
    f"<tool_call>{OBJECT}",
    f"\n<tool_call>\n{OBJECT}\n</tool_call>\n",
    f"<tool_call>[{OBJECT}]</tool_call>",
    f"<tool_calls>[{OBJECT}]</tool_calls>",
    f"<TOOLCALL>[{OBJECT}]</TOOLCALL>",
    f"<|tool_call|>[{OBJECT}]",
    f"<|python_tag|>{LLAMA}",
    LLAMA,
    OBJECT,
    f"  [ {OBJECT} ]\n",
    f"{{{OBJECT}}}",
    f"{{{OBJECT}",
    f"```json\n{{{OBJECT}}}\n```",
    f"<tool_call>\n{{{OBJECT}}}\n</tool_call>",
    f'<tool_call>\n{OBJECT[:-1]}, "result": {{"sky": "clear"}}, "said": "it"}}\n</tool_call>',
    f'{{{OBJECT[:-1]}, "result": "sunny"}}}}',
    f"[TOOL_CALLS][{OBJECT}]",
    f'[TOOL_CALLS] [{OBJECT[:-1]}, "id": "abcdefghi"}}]',
    f"[TOOL_CALLS]weather[ARGS]{ROME}",
    f"[TOOL_CALLS]weather[CALL_ID]abcdefghi[ARGS] {ROME}",
    f'{{"type": "function", "name": "weather", "parameters": {ROME}}}',
    f'{{"arguments": {ROME}, "name": "weather"}}',
    f'{{"name": "weather", "arguments": {json.dumps(ROME)}}}',
    "<tool_call><function=weather><parameter=city>Rome</parameter></function></tool_call>",
    "<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>",
    "<function=weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>",
    "<function=weather>\n<parameter=city>\nRome\n</parameter>\n</tool_call>",
]
"""The same call in many notations."""


@pytest.mark.parametrize("text", CALLS)
def test_every_notation_of_a_call_is_read(text: str) -> None:
    assert parsed(text) == Answer("", "", (CALL,))


@pytest.mark.parametrize("name", ["calendar.list", "ns/tool", "get-weather", "a:b"])
@pytest.mark.parametrize("text", CALLS)
def test_names_with_other_signs_are_read_in_every_notation(text: str, name: str) -> None:
    tools = ({"type": "function", "function": {"name": name, "parameters": {"properties": PROPERTIES}}},)
    (call,) = parse_answer(text.replace("weather", name), HERMES, tools).tool_calls
    assert (call.name, call.arguments) == (name, ROME)


def test_a_call_comes_after_content_and_another_after_that() -> None:
    text = f'I look.\n\n<tool_call>\n{OBJECT}\n</tool_call>\n<tool_call>\n{{"name": "now"}}\n</tool_call>\nDone. '
    assert parsed(text) == Answer("I look.\nDone. ", "", (CALL, ToolCall("now", "{}")))
    assert parsed(f"{LLAMA}; {LLAMA};{LLAMA}") == Answer("", "", (CALL,) * 3)
    assert parsed(f"[TOOL_CALLS]weather[ARGS]{ROME}[TOOL_CALLS]now[ARGS]{{}}") == Answer(
        "", "", (CALL, ToolCall("now"))
    )
    assert parsed(f"[{OBJECT}, {OBJECT}] Right?") == Answer("Right?", "", (CALL, CALL))
    assert parsed(f"{QWEN}\n{QWEN}").tool_calls == (ToolCall("weather", '{"city": "Rome", "days": 3}'),) * 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "Hello, {world} [1]. ",
        "<tool_call> is a tag.",
        "<tool_call>\n{'name': 'weather', 'arguments': {}}\n</tool_call>",
        '<tool_call>{"name": "weather", "arguments": {city: 1}}</tool_call>'.replace("{city", "[city"),
        '<tool_call>{"name": "weather", "arguments": [1]}</tool_call>',
        '<tool_call>{"name": 7, "arguments": {}}</tool_call>',
        '<tool_call>{"arguments": {}}</tool_call>',
        '<tool_call>{"name": "\\u00ez", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "\\x", "arguments": {}}</tool_call>',
        '<tool_call>{"nam',
        "<tool_call></tool_call>",
        "<tool_call>[]</tool_call>",
        "a <tool_cal",
        "[TOOL_CALLS]weather",
        "[TOOL_CALLS]weather and more",
        "[TOOL_CALLS][",
        "<|python_tag|>print(1)",
        "<function= x>",
        '{"name": "Bob", "arguments": {}}',
        '{"name": "weather"}',
        '{"city": "Rome", "name": "weather"}',
        '{"name": "weather", "arguments": "no object"}',
        '[1, 2, {"name": "weather"}]',
        f"Like this: {OBJECT}",
        '{"name": "weather", "name": "now", "arguments": {}}',
        "{",
        "{{",
        "{{{",
        "{{name}}",
        "[",
        "<",
    ],
)
def test_what_is_no_call_stays_content_as_it_is(text: str) -> None:
    assert parsed(text) == Answer(text)


def test_a_call_that_breaks_after_it_was_announced_ends_there() -> None:
    text = '<tool_call>{"name": "weather", "arguments": {"city": "Rome",, "days": 1}}</tool_call>'
    assert parsed(text) == Answer(', "days": 1}}</tool_call>', "", (ToolCall("weather", '{"city": "Rome",'),))


@pytest.mark.parametrize("length", range(len('{"city": "Ro')))
def test_a_call_that_is_cut_off_has_the_arguments_so_far(length: int) -> None:
    begun = '{"city": "Ro'[: length + 1]
    assert parsed(f'<tool_call>{{"name": "weather", "arguments": {begun}') == Answer(
        "", "", (ToolCall("weather", begun),)
    )
    assert parsed(f"[TOOL_CALLS]weather[ARGS]{begun}") == Answer("", "", (ToolCall("weather", begun),))


def test_control_characters_that_a_model_did_not_escape_are_escaped() -> None:
    (call,) = parsed('<tool_call>{"name": "weather", "arguments": {\n"city": "a\n\tb"}}</tool_call>').tool_calls
    assert json.loads(call.arguments) == {"city": "a\n\tb"}


def test_parameters_in_tags_become_what_their_schemas_say() -> None:
    values = {
        "city": 'a "b"\n<c>\\',
        "days": "3",
        "where": '{"x": [1, True]}'.replace("True", "true"),
        "either": "None",
        "kind": "1",
        "unknown": "True",
        "other": "two words",
        "empty": "",
        "nan": "NaN",
    }
    body = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    (call,) = parsed(f"<tool_call>\n<function=weather>\n{body}</function>\n</tool_call>", "qwen3-coder").tool_calls
    assert json.loads(call.arguments) == values | {
        "days": 3,
        "where": {"x": [1, True]},
        "either": None,
        "unknown": True,
    }


def test_a_parameter_in_tags_that_is_cut_off_stays_open() -> None:
    begun = "<function=weather>\n<parameter=city>\nRo\n</par"
    assert parsed(begun).tool_calls == (ToolCall("weather", '{"city": "Ro\\n</par'),)
    assert parsed(f"{begun}ameter>\n</fun").tool_calls == (ToolCall("weather", '{"city": "Ro"}'),)


def test_without_tools_there_are_no_calls() -> None:
    assert parse_answer(QWEN, HERMES) == Answer(QWEN)
    for header in (
        "<|channel|>commentary to=functions.weather <|constrain|>json",
        " to=functions.weather<|channel|>commentary json",
        "<|channel|>analysis to=python code",
    ):
        call = f"{header}<|message|>{ROME}<|call|>"
        assert parse_answer(f"<|channel|>analysis<|message|>Hm.<|end|>{call}", HARMONY) == Answer(ROME, "Hm.")
        assert parse_answer(call.replace(ROME, ""), HARMONY) == Answer("")


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        ("<think>\nHm.\n</think>\n\nHello. ", False, Answer("Hello. ", "Hm.")),
        ("Hm.\n</think>\n\nHello.", True, Answer("Hello.", "Hm.")),
        ("\n<think>\nHm.</think>Hello.", True, Answer("Hello.", "Hm.")),
        ("<think>\n\n</think>\n\nHello.", False, Answer("Hello.")),
        ("<think>never closed </th", False, Answer("", "never closed </th")),
        ("Hello <think>not at the beginning</think>", False, Answer("Hello <think>not at the beginning</think>")),
        ("<thin", False, Answer("<thin")),
        (f"<think>a <tool_call> b</think>{OBJECT}", False, Answer("", "a <tool_call> b", (CALL,))),
        ("", True, Answer("")),
    ],
)
def test_reasoning_comes_first_and_may_be_opened_by_the_prompt(text: str, thinking: bool, answer: Answer) -> None:
    assert parsed(text, thinking=thinking) == answer


def test_other_tags_are_known_too() -> None:
    ministral = AnswerFormat("mistral-args", ("[THINK]", "[/THINK]"))
    assert parse_answer("[THINK]Hm.[/THINK]Hi", ministral, TOOLS) == Answer("Hi", "Hm.")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<|channel|>final<|message|>Hello.<|return|>", Answer("Hello.")),
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.",
            Answer("Hello.", "Hm."),
        ),
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.weather "
            f"<|constrain|>json<|message|>{ROME}<|call|>",
            Answer("", "Hm.", (CALL,)),
        ),
        (f" to=functions.weather<|channel|>commentary json<|message|>{ROME}", Answer("", "", (CALL,))),
        ("<|channel|>commentary to=functions.now<|message|><|call|>", Answer("", "", (ToolCall("now"),))),
        (
            "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>Done.",
            Answer("I look.\nDone."),
        ),
        ("<|channel|>analysis<|message|>Hm", Answer("", "Hm")),
        ("<|channel|>anal", Answer("")),
        ("No header", Answer("No header")),
        ("No header,\nbut two lines", Answer("No header,\nbut two lines")),
    ],
)
def test_messages_in_channels_are_told_apart(text: str, answer: Answer) -> None:
    assert parse_answer(text, HARMONY, TOOLS) == answer


PIECES = st.lists(
    st.sampled_from(
        [
            "<tool_call>",
            "</tool_call>",
            "[TOOL_CALLS]",
            "[ARGS]",
            "[CALL_ID]",
            "<function=",
            "weather",
            ">",
            "<parameter=city>",
            "<parameter=days>",
            "</parameter>",
            "</function>",
            OBJECT,
            LLAMA,
            OBJECT[:-1],
            ROME,
            '{"name": "',
            '"arguments": ',
            "<think>",
            "</think>",
            "```json\n",
            "\n```",
            "<|python_tag|>",
            "<|channel|>",
            "analysis",
            "<|message|>",
            "<|end|>",
            "<|start|>assistant",
            " to=functions.now",
            "[",
            "]",
            "{",
            "}",
            ",",
            ";",
            '"',
            "\\",
            "\\u00e9",
            ":",
            "1",
            "-",
            "true",
            " ",
            "\n",
            "é",
            "text",
        ]
    ),
    max_size=14,
).map("".join)


@settings(max_examples=600)
@given(PIECES, st.lists(st.integers(0, 200), max_size=8), st.booleans(), st.sampled_from(["hermes", "harmony"]))
@example(f"a\n{QWEN} b", [*range(200)], False, "hermes")
@example(f"[TOOL_CALLS]weather[CALL_ID]abc[ARGS]{ROME} {LLAMA}", [*range(200)], False, "hermes")
@example("<|channel|>" + "x" * 386 + "<|message|>y", [*range(500)], False, "harmony")
@example("[TOOL_CALLS]" + "x" * 64 + "[CALL_ID]" + "y" * 40 + "[ARGS]        {}", [*range(500)], False, "hermes")
@example("<|channel|>{\n", [], False, "harmony")
@example("[TOOL_CALLS]" + "x" * 300 + "[ARGS]{}", [*range(500)], False, "hermes")
@example(" to=functions.now<|message|> <|end|>", [], False, "harmony")
@example("<function=" + "x" * 129 + ">", [*range(500)], False, "hermes")
@example(f"a <tool_call> b\n{QWEN}\n{QWEN}\n</think>\n", [*range(500)], True, "hermes")
@example(f"a\n{QWEN}</think>b", [*range(500)], True, "hermes")
@example(f"{{{OBJECT}}}; {{{LLAMA}}}}}", [*range(500)], False, "hermes")
@example(f"```json\n{OBJECT}\n{OBJECT}\n```\n", [*range(500)], False, "hermes")
def test_it_does_not_matter_where_the_text_is_cut(text: str, cuts: list[int], thinking: bool, calls: str) -> None:
    whole = parts_however_cut(text, cuts, AnswerFormat(calls), TOOLS, thinking=thinking)
    for before, part in zip([None, *whole], whole, strict=False):
        if part.kind is PartKind.ARGUMENTS:
            assert before is not None
            assert before.kind is PartKind.CALL


@given(
    st.dictionaries(st.text(), JSON_VALUES),
    st.sampled_from([None, 1, 4]),
    st.booleans(),
    st.text("ab<to_[{\n ", max_size=8),
)
def test_all_arguments_come_back_unchanged(
    arguments: dict[str, object], indent: int | None, ascii_only: bool, content: str
) -> None:
    written = json.dumps(arguments, indent=indent, ensure_ascii=ascii_only)
    for text in (
        f'{content}<tool_call>\n{{"name": "weather", "arguments": {written}}}\n</tool_call>',
        f"{content}[TOOL_CALLS]weather[ARGS]{written}",
    ):
        answer = parsed(text)
        assert [call.name for call in answer.tool_calls] == ["weather"]
        assert answer.tool_calls[0].arguments == written
        assert answer.content == content.rstrip()


def test_arguments_are_returned_while_they_come() -> None:
    parser = AnswerParser(HERMES, TOOLS)
    assert parser.feed('<tool_call>{"name": "weather", "arguments": ') == []
    assert parser.feed('{"ci') == [AnswerPart(PartKind.CALL, "weather"), AnswerPart(PartKind.ARGUMENTS, '{"ci')]
    assert parser.feed('ty": "Ro') == [AnswerPart(PartKind.ARGUMENTS, 'ty": "Ro')]
    coder = AnswerParser(AnswerFormat("qwen3-coder"), TOOLS)
    parts = coder.feed("<tool_call>\n<function=weather>\n<parameter=city>\nRo")
    assert parts == [AnswerPart(PartKind.CALL, "weather"), AnswerPart(PartKind.ARGUMENTS, '{"city": "Ro')]


def test_content_is_returned_while_it_comes() -> None:
    parser = AnswerParser(HERMES, TOOLS)
    assert parser.feed("Hello <to") == [AnswerPart(PartKind.CONTENT, "Hello")]
    assert parser.feed("day> ") == [AnswerPart(PartKind.CONTENT, " <today>")]


def test_the_rest_of_an_answer_with_calls_keeps_its_reasoning_in_tags() -> None:
    text = f'<think>It rains?</think>\n\nLet me see.<tool_call>{{"name": "weather", "arguments": {ROME}}}</tool_call>'
    answer = parse_answer(text, HERMES, TOOLS)
    rest = answer.without_calls(HERMES.thinking)
    assert rest == "<think>\nIt rains?\n</think>\n\nLet me see."
    assert parse_answer(rest, HERMES, TOOLS) == Answer("Let me see.", "It rains?")
    assert Answer("Only this.", "", (CALL,)).without_calls(HERMES.thinking) == "Only this."


@pytest.mark.parametrize("calls", [QWEN, f"<tool_call>\n{OBJECT}\n</tool_call>", f"{QWEN}\n{QWEN}"])
@pytest.mark.parametrize("end", ["", "\n", "\n</think>", "\n</think>\n\n"])
def test_calls_at_the_end_of_a_thought_are_calls_if_nothing_follows_it(calls: str, end: str) -> None:
    made = parsed(calls).tool_calls
    assert parsed(f"I look. <tool_call> is a tag.\n{calls}{end}", thinking=True) == Answer(
        "", "I look. <tool_call> is a tag.", made
    )


@pytest.mark.parametrize(
    ("thought", "answer"),
    [
        (f"{QWEN}\nNo.", ""),
        (f"{QWEN}\nNo.", "Hello."),
        (QWEN, "Hello."),
        (QWEN.replace("weather", "unknown"), ""),
        ('<tool_call>{"name": "weather", "arguments": {"city": "Ro', ""),
        (f"```json\n{OBJECT}\n```", ""),
        (OBJECT, ""),
    ],
)
def test_other_calls_in_a_thought_are_part_of_it(thought: str, answer: str) -> None:
    text = f"Hm.\n{thought}</think>{answer}" if answer else f"Hm.\n{thought}"
    assert parsed(text, thinking=True) == Answer(answer, f"Hm.\n{thought}")


def test_a_call_after_a_thought_that_quotes_one_is_the_only_one() -> None:
    quoted = f"Like\n{QWEN}"
    assert parsed(f"{quoted}</think>{OBJECT}", thinking=True) == Answer("", quoted, (CALL,))


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{OBJECT}\n```",
        f"```\n{OBJECT}```\n",
        f"\n```json\n{LLAMA}\n```",
        f"```tool_call\n[{OBJECT}]\n```",
        f"<think>Hm.</think>\n```json\n{OBJECT}\n```",
    ],
)
def test_a_block_of_code_that_is_all_there_is_may_be_a_call(text: str) -> None:
    answer = parsed(text)
    assert (answer.content, answer.tool_calls) == ("", (CALL,))
    assert parsed(f"```json\n{OBJECT}\n{OBJECT}\n```").tool_calls == (CALL, CALL)


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{OBJECT}\n```\nThis is a call.",
        f"Like this:\n```json\n{OBJECT}\n```",
        f"```json\n{OBJECT}\n",
        f"```json\n{OBJECT} // call\n```",
        "```json\n" + OBJECT.replace("weather", "unknown") + "\n```",
        '```json\n{"city": "Rome"}\n```',
        "```python\nprint(1)\n```",
        "``",
        "```",
    ],
)
def test_other_blocks_of_code_are_content(text: str) -> None:
    assert parsed(text) == Answer(text)


def test_a_block_of_code_goes_out_as_soon_as_it_can_be_no_call() -> None:
    parser = AnswerParser(HERMES, TOOLS)
    assert parser.feed("```json\n{") == []
    assert parser.feed('"city": "') == [AnswerPart(PartKind.CONTENT, '```json\n{"city": "')]
    assert AnswerParser(HERMES, TOOLS).feed("```python\nx") == [AnswerPart(PartKind.CONTENT, "```python\nx")]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I look.\n<tool_c", Answer("I look.")),
        ("I look.\n<tool_call>", Answer("I look.")),
        ('I look.\n<tool_call>\n{"name": "wea', Answer("I look.")),
        ("I look.\n<tool_call>\n<func", Answer("I look.")),
        ("I look.\n<tool_call>\n<function=wea", Answer("I look.")),
        ("[TOOL_CALLS]weat", Answer("")),
        (f"<tool_call>{OBJECT}\n</tool", Answer("", "", (CALL,))),
        ("a[1] < b[", Answer("a[1] < b[")),
        ("<think>Hm.</thin", Answer("", "Hm.")),
        ("<thin", Answer("")),
    ],
)
def test_an_answer_that_was_cut_off_shows_no_half_of_a_mark(text: str, answer: Answer) -> None:
    parser = AnswerParser(HERMES, TOOLS)
    assert Answer.of([*parser.feed(text), *parser.finish(cut=True)]) == answer


def test_half_of_a_closing_mark_after_a_call_is_never_content() -> None:
    assert parsed(f"<tool_call>{OBJECT}\n</tool_ca") == Answer("", "", (CALL,))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (f" {OBJECT}", Answer(f" {OBJECT}")),
        (f"[{OBJECT}, '<tool_call>{OBJECT}</tool_call>']", Answer(f"[{OBJECT}, '<tool_call>{OBJECT}</tool_call>']")),
        (f"```\n{OBJECT}\n```", Answer(f"```\n{OBJECT}\n```")),
        (f"<think>Hm.</think>\n<tool_call>{OBJECT}</tool_call>", Answer("", "Hm.", (CALL,))),
        (f"<tool_call>{OBJECT}</tool_call>\n<tool_call>{OBJECT}</tool_call>", Answer("", "", (CALL, CALL))),
    ],
)
def test_an_answer_in_a_format_calls_only_from_its_beginning(text: str, answer: Answer) -> None:
    assert Answer.of(parts_however_cut(text, [3, 12], HERMES, TOOLS, formatted=True)) == answer


def test_an_answer_in_a_format_that_was_cut_off_shows_no_half_of_a_mark_at_its_beginning() -> None:
    for text, content in (("<tool_ca", ""), ('{"a": "<tool_ca', '{"a": "<tool_ca')):
        parser = AnswerParser(HERMES, TOOLS, formatted=True)
        assert Answer.of([*parser.feed(text), *parser.finish(cut=True)]) == Answer(content)


@pytest.mark.parametrize("answer_format", [HERMES, HARMONY])
def test_a_continued_answer_goes_on_with_content(answer_format: AnswerFormat) -> None:
    parser = AnswerParser(answer_format, TOOLS, continued=True)
    assert parser.feed(" wor") == [AnswerPart(PartKind.CONTENT, " wor")]
    assert parser.inside in (False, None)
    assert AnswerParser(answer_format, TOOLS, continued=True).feed(f"{OBJECT}!") == [
        AnswerPart(PartKind.CONTENT, f"{OBJECT}!")
    ]


def test_a_call_in_a_continued_answer_is_one() -> None:
    parser = AnswerParser(HERMES, TOOLS, continued=True)
    parts = [*parser.feed(f"\n<tool_call>{OBJECT}</tool_call>Done."), *parser.finish()]
    assert Answer.of(parts) == Answer("\nDone.", "", (CALL,))
