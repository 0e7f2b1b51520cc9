"""Calls are read as the models with notations of their own write them, wherever the stream is cut."""

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

PROPERTIES = {"city": {"type": "string"}, "days": {"type": "integer"}, "where": {"type": "object"}}
TOOLS = (
    {"type": "function", "function": {"name": "weather", "parameters": {"properties": PROPERTIES}}},
    {"type": "function", "function": {"name": "now"}},
)
ROME = '{"city": "Rome", "days": 3}'
CALLS = (ToolCall("weather", ROME), ToolCall("now", "{}"))
GEMMA = AnswerFormat("gemma4", ("<|channel>thought", "<channel|>"))

GLM_46 = (
    "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n"
    "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n<tool_call>now\n</tool_call>"
)
GLM_47 = GLM_46.replace("\n", "")
DEEPSEEK_R1 = (
    f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{ROME}\n```<｜tool▁call▁end｜>\n"
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
)
DEEPSEEK_V31 = (
    f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{ROME}<｜tool▁call▁end｜>"
    "<｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
)
KIMI_K2 = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>"
    f"{ROME}<|tool_call_end|><|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
    "<|tool_calls_section_end|>"
)
GEMMA_4 = '<|tool_call>call:weather{city:<|"|>Rome<|"|>,days:3}<tool_call|><|tool_call>call:now{}<tool_call|>'
MINIMAX = (
    '<minimax:tool_call>\n<invoke name="weather">\n<parameter name="city">Rome</parameter>\n'
    '<parameter name="days">3</parameter>\n</invoke>\n<invoke name="now">\n</invoke>\n</minimax:tool_call>'
)
DSML = (
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">\n'
    '<｜DSML｜parameter name="city" string="true">Rome</｜DSML｜parameter>\n'
    '<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
    '<｜DSML｜invoke name="now">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'
)
MINICPM = (
    '<function name="weather"><param name="city">Rome</param><param name="days">3</param></function>'
    '<function name="now"></function>'
)
LFM = "<|tool_call_start|>[weather(city='Rome', days=3), now()]<|tool_call_end|>"
LFM_JSON = f'<|tool_call_start|>[{{"name": "weather", "arguments": {ROME}}}, {{"name": "now"}}]<|tool_call_end|>'
COHERE = (
    '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "weather", "parameters": {"city": "Rome", "days": 3}},'
    '\n    {"tool_call_id": "1", "tool_name": "now", "parameters": {}}\n]<|END_ACTION|>'
)
RECORDED = {
    "glm-4.6": GLM_46,
    "glm-4.7": GLM_47,
    "deepseek-r1": DEEPSEEK_R1,
    "deepseek-r1, end of the block on its line": DEEPSEEK_R1.replace("\n```<", "```<"),
    "deepseek-v3.1": DEEPSEEK_V31,
    "kimi-k2": KIMI_K2,
    "kimi-k2, on lines": KIMI_K2.replace("|>", "|>\n").replace("<|", "\n<|"),
    "deepseek-r1, end of the call on a line": DEEPSEEK_R1.replace("```<", "```\n<"),
    "kimi-k2, without a section": KIMI_K2.replace("<|tool_calls_section_begin|>", "").replace("<|tool_call_end|>", ""),
    "gemma-4": GEMMA_4,
    "minimax-m2": MINIMAX,
    "deepseek-v3.2": DSML,
    "deepseek-v4": DSML.replace("function_calls", "tool_calls"),
    "minicpm-5": MINICPM,
    "lfm-2": LFM,
    "lfm-2, as json": LFM_JSON,
    "cohere": COHERE,
    "gigachat-3.1": f'<|function_call|>{{"name": "weather", "arguments": {ROME}}}<|function_call|>{{"name": "now"}}',
}


def parsed(text: str, *, thinking: bool = False) -> Answer:
    return parse_answer(text, AnswerFormat(), TOOLS, thinking=thinking)


@pytest.mark.parametrize("text", RECORDED.values(), ids=RECORDED)
def test_calls_come_alone_or_after_reasoning_and_content(text: str) -> None:
    assert parsed(text) == Answer("", "", CALLS)
    assert parsed(f"<think>\nHm.\n</think>\n\n{text}") == Answer("", "Hm.", CALLS)
    assert parsed(f"Hm.</think>I look.\n{text}\n", thinking=True) == Answer("I look.", "Hm.", CALLS)


@pytest.mark.parametrize("text", RECORDED.values(), ids=RECORDED)
def test_without_tools_they_are_content(text: str) -> None:
    assert parse_answer(text, AnswerFormat()) == Answer(text)


def test_the_thoughts_of_gemma_come_in_a_channel() -> None:
    for thought, reasoning in (("<|channel>thought\nHm.\n<channel|>", "Hm."), ("<|channel>thought\n<channel|>", "")):
        assert parse_answer(f"{thought}{GEMMA_4}", GEMMA, TOOLS) == Answer("", reasoning, CALLS)
        assert parse_answer(f"{thought}Hello.", GEMMA, TOOLS) == Answer("Hello.", reasoning)


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>weather",
        "<tool_call>weather</tool_cal",
        "<tool_call>climate</tool_call>",
        "<tool_call>weather in Rome</tool_call>",
        "<tool_call>weather(<arg_key>city</arg_key>",
        "<tool_call><arg_key>city</arg_key><arg_value>Rome</arg_value></tool_call>",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>",
        "<｜tool▁calls▁begin｜>\n<｜tool▁call▁begin｜>weather",
        "<｜tool▁call▁begin｜>weather<｜tool▁sep｜>Rome<｜tool▁call▁end｜>",
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n{}\n<｜tool▁call▁end｜>",
        f"<｜tool▁call▁begin｜>{'x' * 300}<｜tool▁sep｜>{{}}",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0",
        "<|tool_call_begin|>functions.weather:0{}<|tool_call_end|>",
        "<|tool_call_begin|>functions.the weather:0<|tool_call_argument_begin|>{}",
        "<|tool_call>call:weather",
        "<|tool_call>weather{}<tool_call|>",
        "<|tool_call>call:{}<tool_call|>",
        "<minimax:tool_call>weather</minimax:tool_call>",
        '<invoke name="the weather"></invoke>',
        '<function name=""></function>',
        '<function name="main"><param name="x">1</param></function>',
        'Write <invoke name="task"> here',
        "<|tool_call_start|>",
        "<|tool_call_start|>[]<|tool_call_end|>",
        "<|tool_call_start|>[weather('Rome')]<|tool_call_end|>",
        "<|tool_call_start|>[weather(**{'city': 'Rome'})]<|tool_call_end|>",
        "<|tool_call_start|>[weather(city=town)]<|tool_call_end|>",
        "<|tool_call_start|>[weather(city=)]<|tool_call_end|>",
        "<|tool_call_start|>[weather('city'='Rome')]<|tool_call_end|>",
        "<|tool_call_start|>[weather(days=1e999)]<|tool_call_end|>",
        "<|tool_call_start|>[(weather)()]<|tool_call_end|>",
        "<|tool_call_start|>[weather(city='Rome'",
        "<|tool_call_start|>weather is fine<|tool_call_end|>",
        '<|START_ACTION|>[{"tool_name": "weather", "city": "Rome"}]<|END_ACTION|>',
    ],
)
def test_what_is_no_call_stays_content_as_it_is(text: str) -> None:
    assert parsed(text) == Answer(text)
    assert parsed(f"{text} x {KIMI_K2}") == Answer(f"{text} x", "", CALLS)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("<tool_call>weather<arg_key>city</arg_key><arg_value>Ro", '{"city": "Ro'),
        ("<tool_call>weather<arg_key>city</arg_key><arg_value>Rome</arg_value><arg_k", '{"city": "Rome"}'),
        ('<｜tool▁call▁begin｜>weather<｜tool▁sep｜>{"city": "Ro', '{"city": "Ro'),
        ('<|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"city": "Ro', '{"city": "Ro'),
        ('<|tool_call>call:weather{city:<|"|>Ro<|', '{"city": "Ro<|'),
        ("<|tool_call>call:weather{days:3", '{"days": 3'),
        ('<invoke name="weather"><parameter name="city">Ro', '{"city": "Ro'),
    ],
)
def test_a_call_that_is_cut_off_has_the_arguments_so_far(text: str, arguments: str) -> None:
    assert parsed(text) == Answer("", "", (ToolCall("weather", arguments),))


@pytest.mark.parametrize(
    ("text", "rest", "arguments"),
    [
        ("<tool_call>weather<arg_key>city</arg_key>Rome</tool_call>", "<arg_key>city</arg_key>Rome</tool_call>", "{}"),
        ("<｜tool▁call▁begin｜>now<｜tool▁sep｜>{,}<｜tool▁call▁end｜>", ",}<｜tool▁call▁end｜>", "{"),
        ("<|tool_call>call:now{a:1:2}<tool_call|>", ":2}<tool_call|>", '{"a": "1"'),
        ("<|tool_call_start|>[now(), weather('Rome')]", ", weather('Rome')]", "{}"),
    ],
)
def test_a_call_that_breaks_after_it_was_announced_ends_there(text: str, rest: str, arguments: str) -> None:
    answer = parsed(text)
    assert (answer.content, answer.tool_calls[0].arguments) == (rest, arguments)


def test_the_values_of_glm_are_what_their_schemas_say() -> None:
    values = {"city": "\n 42 </arg>", "days": "3", "where": '{"x": [true]}', "other": "two words", "more": "1.5"}
    body = "".join(f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n" for key, value in values.items())
    (call,) = parsed(f"<tool_call>weather\n{body}</tool_call>").tool_calls
    assert json.loads(call.arguments) == values | {"days": 3, "where": {"x": [True]}, "more": 1.5}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("{}", {}),
        ('{a:<|"|>{"x": [1]}, }\n\\<|"|>}', {"a": '{"x": [1]}, }\n\\'}),
        ('{a:<|"|><|"|>,b:[<|"|>x<|"|>,[],{}],c:{d:{e:null}}}', {"a": "", "b": ["x", [], {}], "c": {"d": {"e": None}}}),
        ("{a: -1.5e3, b : true ,c:[1, 2]}", {"a": -1500.0, "b": True, "c": [1, 2]}),
        ('{<|"|>a key<|"|>:1,two words:2}', {"a key": 1, "two words": 2}),
        ("{a:Rome,b:Infinity,c:1e999,d:None}", {"a": "Rome", "b": "Infinity", "c": "1e999", "d": None}),
    ],
)
def test_the_values_of_gemma_become_json(written: str, value: object) -> None:
    answer = parsed(f"<|tool_call>call:now{written}<tool_call|>")
    assert answer.content == ""
    assert json.loads(answer.tool_calls[0].arguments) == value


@pytest.mark.parametrize(
    ("begun", "arguments"),
    [
        ("<tool_call>weather<arg_key>city</arg_key><arg_value>Ro", '{"city": "Ro'),
        ('<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{"city": "Ro', '{"city": "Ro'),
        ('<|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"city": "Ro', '{"city": "Ro'),
        ('<|tool_call>call:weather{city:<|"|>Ro', '{"city": "Ro'),
        ('<｜DSML｜invoke name="weather"><｜DSML｜parameter name="city" string="true">Ro', '{"city": "Ro'),
    ],
)
def test_arguments_are_returned_while_they_come(begun: str, arguments: str) -> None:
    parser = AnswerParser(AnswerFormat(), TOOLS)
    assert parser.feed(begun) == [AnswerPart(PartKind.CALL, "weather"), AnswerPart(PartKind.ARGUMENTS, arguments)]
    assert parser.feed("me") == [AnswerPart(PartKind.ARGUMENTS, "me")]


BROKEN = ["", " ", "\n", "{", "}", "[", ",", ":", '"', "<", "x", "é", "```", "<|", '<|"|>', "<arg_key>", "<tool_call>"]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Two recorded answers one after the other, often with something else in the place of a part of them."""
    text = "".join(draw(st.lists(st.sampled_from([*RECORDED.values()]), min_size=1, max_size=2)))
    for _ in range(draw(st.integers(0, 2))):
        begin = draw(st.integers(0, len(text)))
        end = begin + draw(st.integers(0, 12))
        text = text[:begin] + draw(st.sampled_from(BROKEN)) + text[end:]
    return text


@settings(max_examples=300)
@given(damaged(), st.lists(st.integers(0, 600), max_size=8), st.sampled_from([AnswerFormat(), GEMMA]))
@example("<tool_call>" + "x" * 128 + " " * 8 + "</tool_call>", [*range(200)], GEMMA)
@example("<tool_call>now<arg_key>" + "x" * 128 + "</arg_key>        <arg_value>1", [*range(200)], GEMMA)
@example("<tool_call>now<arg_key>" + "x" * 200 + "</arg_key><arg_value>1", [*range(300)], GEMMA)
@example("<|tool_call>call:" + "x" * 195 + "{}", [*range(300)], GEMMA)
@example("<|tool_call>call:" + "x" * 196 + "{}", [*range(300)], GEMMA)
def test_it_does_not_matter_where_the_text_is_cut(text: str, cuts: list[int], answer_format: AnswerFormat) -> None:
    parts_however_cut(text, cuts, answer_format, TOOLS)


def in_gemma(value: object) -> str:
    match value:
        case str():
            return f'<|"|>{value}<|"|>'
        case dict():
            return f"{{{','.join(f'{in_gemma(key)}:{in_gemma(one)}' for key, one in value.items())}}}"
        case list():
            return f"[{','.join(map(in_gemma, value))}]"
    return json.dumps(value)


@given(st.dictionaries(st.from_regex("[a-z_]{1,8}", fullmatch=True), JSON_VALUES))
def test_all_arguments_in_python_come_back(arguments: dict[str, object]) -> None:
    written = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    (call,) = parsed(f"<|tool_call_start|>[now({written})]<|tool_call_end|>").tool_calls
    assert json.loads(call.arguments) == arguments


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("a=true, b=[null, (1, False)], c=-2,", {"a": True, "b": [None, [1, False]], "c": -2}),
        ("from='Rome', start-date=\"it's\"", {"from": "Rome", "start-date": "it's"}),
        ("\n  a='one\ntwo',\n  b='one\\ntwo'\n", {"a": "one\ntwo", "b": "one\ntwo"}),
        ("a='''it's''', b=\"\"\"one\n\"two\\\"\"\"\", c=''", {"a": "it's", "b": 'one\n"two"', "c": ""}),
        ("a=''''[', (''', b='x' ')'", {"a": "'[', (", "b": "x)"}),
        (r"a='\d+', b=r'\d'", {"a": r"\d+", "b": r"\d"}),
        (r"a='\ud83d\ude00', b='\ud800'", {"a": "😀", "b": "�"}),
    ],
)
def test_the_values_of_python_become_json(written: str, arguments: object) -> None:
    answer = parsed(f"<|tool_call_start|>[now({written})]<|tool_call_end|>")
    assert answer.content == ""
    assert json.loads(answer.tool_calls[0].arguments) == arguments


def test_the_name_of_a_tool_need_not_be_one_of_python() -> None:
    (call,) = parsed("<|tool_call_start|>[files.get-text(a=1)]<|tool_call_end|>").tool_calls
    assert call == ToolCall("files.get-text", '{"a": 1}')


def test_each_call_in_python_is_returned_when_it_is_complete() -> None:
    parser = AnswerParser(AnswerFormat(), TOOLS)
    assert parser.feed("<|tool_call_start|>[weather(city='Rome', days=3") == []
    assert parser.feed("), now(") == [AnswerPart(PartKind.CALL, "weather"), AnswerPart(PartKind.ARGUMENTS, ROME)]


def test_a_call_in_python_that_does_not_end_is_shown_in_the_end() -> None:
    parser = AnswerParser(AnswerFormat(), TOOLS)
    assert parser.feed("<|tool_call_start|>[now(a=1, ") == []
    assert parser.feed("b=2, " * 20_001)[0].kind is PartKind.CONTENT


TEXTS = st.text().filter(lambda text: not any(mark in text for mark in ('<|"|>', "</arg_value>", "\r")))


@given(
    st.dictionaries(
        TEXTS.filter(lambda text: not text.endswith(("<", "<|", '<|"', '<|"|'))),
        st.recursive(
            st.none() | st.booleans() | st.integers() | TEXTS.filter(lambda text: not text.endswith(("<", "|", '"'))),
            lambda inner: st.lists(inner) | st.dictionaries(st.text("ab", min_size=1), inner),
            max_leaves=8,
        ),
    )
)
def test_all_arguments_of_gemma_come_back(arguments: dict[str, object]) -> None:
    (call,) = parsed(f"<|tool_call>call:now{in_gemma(arguments)}<tool_call|>").tool_calls
    assert json.loads(call.arguments) == arguments


@given(TEXTS)
def test_a_string_of_glm_comes_back_as_it_is(text: str) -> None:
    (call,) = parsed(
        f"<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>{text}</arg_value></tool_call>"
    ).tool_calls
    assert json.loads(call.arguments) == {"city": text}
