"""A required call comes in the model's notation, and its arguments are what the tool's schema accepts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from specchat_engine import SettingError
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.grammar import after_reasoning, can_choose_calls, tool_grammar
from specchat_engine.answers.notations import NOTATIONS
from specchat_engine.answers.parser import Answer, parse_answer
from specchat_engine.llama.vocabulary import Vocabulary
from support.grammar_walks import allows, random_text

FORMATS = ("harmony", *(name for name, notation in NOTATIONS.items() if notation.written))
MARKS: dict[str, tuple[str, ...]] = dict.fromkeys(FORMATS, ("</think>",)) | {
    "harmony": (),
    "qwen3-coder": ("</think>", "\n</parameter>"),
    "glm": ("</think>", "</arg_value>"),
    "gemma4": ("</think>", '<|"|>'),
    "minimax-m2": ("</think>", "</parameter>"),
    "minicpm5": ("</think>", "</param>"),
}
WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"$ref": "#/$defs/days"},
        "kind": {"type": "string", "enum": ["rain", "<wind>"]},
        "where": {"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"]},
        "a/b~c": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["city", "where"],
    "$defs": {"days": {"type": "integer"}},
}
TOOLS = (
    {"type": "function", "function": {"name": "weather", "parameters": WEATHER}},
    {"type": "function", "function": {"name": "now"}},
)


def is_weather(value: Any) -> bool:
    assert list(value) == [key for key in WEATHER["properties"] if key in value]  # type: ignore[attr-defined]
    return (
        isinstance(value["city"], str)
        and isinstance(value.get("days", 1), int)
        and value.get("kind", "rain") in ("rain", "<wind>")
        and value["where"] in ({"x": True}, {"x": False})
        and isinstance(value.get("a/b~c"), str | None)
    )


@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("calls", FORMATS)
def test_every_answer_is_a_call_that_the_parser_reads(vocabulary: Vocabulary, calls: str, thinking: bool) -> None:
    written = AnswerFormat(calls)
    grammar = tool_grammar(written, TOOLS, thinking=thinking)
    seen = set()
    for seed in range(6):
        text = random_text(vocabulary, grammar, seed, MARKS[calls])
        if len(text.encode()) >= 2000:
            continue
        answer = parse_answer(text, written, TOOLS, thinking=thinking)
        assert answer.content == "", text
        assert answer.tool_calls, text
        for call in answer.tool_calls:
            arguments = json.loads(call.arguments)
            assert is_weather(arguments) if call.name == "weather" else (call.name, arguments) == ("now", {}), text
            seen.add(call.name)
    assert seen == {"weather", "now"}


ROME = '{"city": "Rome", "where": {"x": true}}'
WITH_MARK = '{"name": "weather", "arguments": "<tool_call>{}</tool_call>"}'
IN_TAGS = (
    "<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n"
    '<parameter=where>\n{"x": true}\n</parameter>\n</function>\n</tool_call>'
)
GLM = (
    "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n"
    '<arg_key>where</arg_key>\n<arg_value>{"x": true}</arg_value>\n</tool_call>'
)
WRITTEN: dict[str, list[str]] = {
    "glm": [GLM, GLM.replace("\n", "")],
    "deepseek-r1": [
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n"
        f"```json\n{ROME}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ],
    "deepseek-v3.1": [
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{ROME}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ],
    "kimi-k2": [
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>"
        f"{ROME}<|tool_call_end|><|tool_calls_section_end|>"
    ],
    "gemma4": ['<|tool_call>call:weather{city:<|"|>Rome<|"|>,where:{x:true}}<tool_call|>'],
    "minimax-m2": [
        '<minimax:tool_call>\n<invoke name="weather">\n<parameter name="city">Rome</parameter>\n'
        '<parameter name="where">{"x": true}</parameter>\n</invoke>\n</minimax:tool_call>'
    ],
    "minicpm5": [
        '<function name="weather"><param name="city">Rome</param><param name="where">{"x": true}</param></function>'
    ],
    "cohere": [
        f'<|START_ACTION|>[\n    {{"tool_call_id": "0", "tool_name": "weather", "parameters": {ROME}}}\n]<|END_ACTION|>'
    ],
    "gigachat": [f'<|function_call|>{{"name": "weather", "arguments": {ROME}}}'],
    "hermes": [f'<tool_call>\n{{"name": "weather", "arguments": {ROME}}}\n</tool_call>'],
    "qwen3-coder": [IN_TAGS],
    "llama3": [f'{{"name": "weather", "parameters": {ROME}}}'],
    "json": [f'{{"name": "weather", "arguments": {ROME}}}'],
    "mistral": [
        f'[TOOL_CALLS][{{"name": "weather", "arguments": {ROME}}}]',
        f'[TOOL_CALLS][{{"name": "weather", "arguments": {ROME}, "id": "a1b2c3d4e"}}]',
    ],
    "mistral-args": [f"[TOOL_CALLS]weather[ARGS]{ROME}"],
    "mistral-ids": [f"[TOOL_CALLS]weather[CALL_ID]a1b2c3d4e[ARGS]{ROME}"],
    "harmony": [
        f"<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{ROME}",
        f" to=functions.weather<|channel|>commentary json<|message|>{ROME}",
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.weather "
        f"<|constrain|>json<|message|>{ROME}",
    ],
}


@pytest.mark.parametrize("calls", FORMATS)
def test_what_models_write_is_allowed(vocabulary: Vocabulary, calls: str) -> None:
    grammar = tool_grammar(AnswerFormat(calls, thinks=True), TOOLS)
    for text in WRITTEN[calls]:
        assert allows(vocabulary, grammar, text)
        assert not allows(vocabulary, grammar, f"Sure! {text}")
        assert not allows(vocabulary, grammar, text.replace("weather", "climate"))
        assert not allows(vocabulary, grammar, text.replace("true", "1"))
    assert not allows(vocabulary, grammar, "")


@pytest.mark.parametrize("calls", FORMATS)
def test_a_choice_allows_one_call_of_that_tool_alone(vocabulary: Vocabulary, calls: str) -> None:
    written = AnswerFormat(calls)
    for seed in range(2):
        text = random_text(vocabulary, tool_grammar(written, TOOLS, "now"), seed, MARKS[calls] or ("<|end|>",))
        assert [call.name for call in parse_answer(text, written, TOOLS).tool_calls] == ["now"]
    text = WRITTEN[calls][0]
    assert not allows(vocabulary, tool_grammar(written, TOOLS, "now"), text)


TWO: dict[str, str] = {
    "glm": f"{GLM}\n{GLM}",
    "deepseek-r1": WRITTEN["deepseek-r1"][0].replace(
        "<｜tool▁calls▁end｜>",
        "\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    "deepseek-v3.1": WRITTEN["deepseek-v3.1"][0].replace(
        "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "kimi-k2": WRITTEN["kimi-k2"][0].replace(
        "<|tool_calls_section_end|>",
        "<|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    "gemma4": f"{WRITTEN['gemma4'][0]}<|tool_call>call:now{{}}<tool_call|>",
    "minimax-m2": WRITTEN["minimax-m2"][0].replace("</invoke>", '</invoke>\n<invoke name="now">\n</invoke>'),
    "minicpm5": f'{WRITTEN["minicpm5"][0]}<function name="now"></function>',
    "cohere": WRITTEN["cohere"][0].replace(
        "\n]", ',\n    {"tool_call_id": "1", "tool_name": "now", "parameters": {}}\n]'
    ),
}


@pytest.mark.parametrize(("calls", "text"), TWO.items())
def test_several_calls_stand_where_the_model_puts_them(vocabulary: Vocabulary, calls: str, text: str) -> None:
    assert allows(vocabulary, tool_grammar(AnswerFormat(calls), TOOLS), text)
    assert not allows(vocabulary, tool_grammar(AnswerFormat(calls), TOOLS, parallel=False), text)
    assert len(parse_answer(text, AnswerFormat(calls), TOOLS).tool_calls) == 2


def test_the_values_of_gemma_have_its_own_quotes(vocabulary: Vocabulary) -> None:
    parts = {
        "kind": {"enum": [{"a b": ["x"]}, None]},
        "short": {"type": "string", "maxLength": 2},
        "day": {"type": "string", "format": "date"},
        "more": {"type": "object"},
        "list": {"type": "array", "items": {"type": "string"}},
    }
    grammar = tool_grammar(AnswerFormat("gemma4"), as_tool({"type": "object", "properties": parts}))
    for value in (
        'kind:{<|"|>a b<|"|>:[<|"|>x<|"|>]}',
        "kind:null",
        'short:<|"|>ab<|"|>',
        'day:<|"|>2026-01-02<|"|>',
        'more:{key:<|"|><b>"<|"|>,other:[1,true]}',
        'list:[<|"|><|<|"|>,<|"|>\n<|"|>]',
    ):
        assert allows(vocabulary, grammar, f"<|tool_call>call:f{{{value}}}<tool_call|>"), value
    for value in ('short:<|"|>abc<|"|>', 'day:"2026-01-02"', '"kind":null', "list:[x]", "kind: null"):
        assert not allows(vocabulary, grammar, f"<|tool_call>call:f{{{value}}}<tool_call|>"), value


TRIP = {
    "$defs": {
        "Mode": {"enum": ["rail", "<road>"], "type": "string"},
        "Stop": {"properties": {"to": {"type": "string"}}, "required": ["to"]},
        "Trip": {
            "allOf": [{"$ref": "#/$defs/Stop"}],
            "type": "object",
            "properties": {"mode": {"$ref": "#/$defs/Mode"}, "fare_%": {"type": "integer"}},
            "required": ["mode"],
        },
    },
    "$ref": "#/$defs/Trip",
}


@pytest.mark.parametrize(
    ("calls", "call"),
    [
        (
            "qwen3-coder",
            "<tool_call>\n<function=f>\n<parameter=to>\nRome\n</parameter>\n<parameter=mode>\nrail\n</parameter>\n"
            "<parameter=fare_%>\n5\n</parameter>\n</function>\n</tool_call>",
        ),
        (
            "glm",
            "<tool_call>f<arg_key>to</arg_key><arg_value>Rome</arg_value><arg_key>mode</arg_key>"
            "<arg_value>rail</arg_value><arg_key>fare_%</arg_key><arg_value>5</arg_value></tool_call>",
        ),
        (
            "minicpm5",
            '<function name="f"><param name="to">Rome</param><param name="mode">rail</param>'
            '<param name="fare_%">5</param></function>',
        ),
    ],
)
def test_parameters_in_tags_may_be_described_anywhere(vocabulary: Vocabulary, calls: str, call: str) -> None:
    grammar = tool_grammar(AnswerFormat(calls), as_tool(TRIP))
    assert allows(vocabulary, grammar, call)
    assert allows(vocabulary, grammar, call.replace("rail", "<road>"))
    for said, wrong in (("rail", "sea"), ("5", "five"), ("Rome", "Rome</param></parameter></arg_value>")):
        assert not allows(vocabulary, grammar, call.replace(said, wrong))
    (read,) = parse_answer(call, AnswerFormat(calls), as_tool(TRIP)).tool_calls
    assert json.loads(read.arguments) == {"to": "Rome", "mode": "rail", "fare_%": 5}


@pytest.mark.parametrize("schema", [{"$ref": "#/nowhere"}, {"$ref": "https://example.org/schema"}, {"allOf": [{}, {}]}])
def test_arguments_are_an_object_whatever_the_schema_fails_to_say(vocabulary: Vocabulary, schema: object) -> None:
    grammar = tool_grammar(AnswerFormat("gemma4"), as_tool(schema))
    assert allows(vocabulary, grammar, "<|tool_call>call:f{a:[1]}<tool_call|>")
    assert not allows(vocabulary, grammar, "<|tool_call>call:f[1]<tool_call|>")


def test_several_calls_are_allowed_unless_they_may_not_be_parallel(vocabulary: Vocabulary) -> None:
    (one,) = WRITTEN["hermes"]
    assert allows(vocabulary, tool_grammar(AnswerFormat(), TOOLS), f"{one}\n{one}")
    for grammar in (
        tool_grammar(AnswerFormat(), TOOLS, parallel=False),
        tool_grammar(AnswerFormat(), TOOLS, "weather"),
    ):
        assert allows(vocabulary, grammar, one)
        assert not allows(vocabulary, grammar, f"{one}\n{one}")


def test_reasoning_may_come_first_and_has_to_be_closed_if_the_prompt_opened_it(vocabulary: Vocabulary) -> None:
    (call,) = WRITTEN["hermes"]
    closed, opened = (tool_grammar(AnswerFormat(thinks=True), TOOLS, thinking=thinking) for thinking in (False, True))
    assert allows(vocabulary, closed, f"<think>\nHm < 2.\n</think>\n\n{call}")
    assert not allows(vocabulary, closed, f"<think>\nHm.{call}")
    assert allows(vocabulary, opened, f"Hm.\n</think>\n\n{call}")
    assert not allows(vocabulary, opened, call)
    gemma = tool_grammar(AnswerFormat("gemma4", ("<|channel>thought", "<channel|>"), thinks=True), TOOLS)
    assert allows(vocabulary, gemma, f"<|channel>thought\nHm.\n<channel|>{WRITTEN['gemma4'][0]}")


@pytest.mark.parametrize("calls", [calls for calls in FORMATS if can_choose_calls(AnswerFormat(calls))])
@pytest.mark.parametrize(
    ("grammar", "answers"),
    [
        ('{"properties": {"name": {"const": "weather"}, "arguments": {"type": "string"}}}', [WITH_MARK, "{}"]),
        ("true", [WITH_MARK, '"<tool_call>"', "[1]"]),
        ('root ::= "<b>" [a-z<]* "</b>" | "yes"', ["<b>to<</b>", "yes"]),
    ],
)
def test_a_model_may_call_or_answer_in_a_format(
    vocabulary: Vocabulary, calls: str, grammar: str, answers: list[str]
) -> None:
    written = AnswerFormat(calls, thinks=True)
    both, alone = (after_reasoning(grammar, written, tools, opened=False) for tools in (TOOLS, ()))
    header = "<|channel|>final<|message|>" * (calls == "harmony")
    for answer in answers:
        text = f"{header}{answer}"
        assert allows(vocabulary, both, text)
        assert allows(vocabulary, alone, text)
        assert parse_answer(text, written, TOOLS, formatted=True) == Answer(answer)
    for text in (*WRITTEN[calls], *([TWO[calls]] if calls in TWO else [])):
        assert allows(vocabulary, both, text)
        assert not allows(vocabulary, alone, text)
        calls_in = [parse_answer(text, written, TOOLS, formatted=formatted).tool_calls for formatted in (False, True)]
        assert calls_in[0] == calls_in[1] != ()
    assert not allows(vocabulary, both, f"{header}Sure!")


def test_one_call_may_stand_instead_of_a_format_if_several_may_not(vocabulary: Vocabulary) -> None:
    (call,) = WRITTEN["hermes"]
    grammar = after_reasoning("true", AnswerFormat(), TOOLS, opened=True, parallel=False)
    assert allows(vocabulary, grammar, f"Hm.</think>{call}")
    assert not allows(vocabulary, grammar, f"Hm.</think>{call}\n{call}")


def test_a_model_that_does_not_think_calls_at_once(vocabulary: Vocabulary) -> None:
    (call,) = WRITTEN["hermes"]
    grammar = tool_grammar(AnswerFormat(), TOOLS)
    assert allows(vocabulary, grammar, call)
    assert not allows(vocabulary, grammar, f"<think>Hm.</think>{call}")
    assert allows(vocabulary, tool_grammar(AnswerFormat(), TOOLS, thinking=True), f"Hm.</think>{call}")


LOOSE = {
    "type": "object",
    "properties": {
        "pattern": {"type": "integer", "minimum": 3},
        "mail": {"type": "string", "format": "email", "pattern": ".*"},
        "tags": {"type": "array", "uniqueItems": True, "items": {"oneOf": [{"type": "string"}, {"type": "null"}]}},
    },
    "required": ["pattern"],
}


def as_tool(schema: object, **more: object) -> list[dict[str, object]]:
    return [{"type": "function", "function": {"name": "f", "parameters": schema, **more}}]


@pytest.mark.parametrize("calls", ["llama3", "qwen3-coder"])
def test_what_a_grammar_cannot_express_is_left_out_unless_the_tool_is_strict(
    vocabulary: Vocabulary, calls: str
) -> None:
    grammar = tool_grammar(AnswerFormat(calls), as_tool(LOOSE))
    for seed in range(2):
        text = random_text(vocabulary, grammar, seed, MARKS[calls])
        (call, *_) = parse_answer(text, AnswerFormat(calls), as_tool(LOOSE)).tool_calls
        assert isinstance(json.loads(call.arguments)["pattern"], int)
    with pytest.raises(SettingError, match=r"the tool 'f' is strict, but .*: #/properties/tags/uniqueItems is true"):
        tool_grammar(AnswerFormat(calls), as_tool(LOOSE, strict=True))


@pytest.mark.parametrize("calls", ["llama3", "qwen3-coder"])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("nested", [lambda inner: {"properties": {"a": inner}}, lambda inner: {"anyOf": [inner]}])
def test_a_schema_that_is_nested_too_deep_is_refused(
    calls: str, strict: bool, nested: Callable[[object], object]
) -> None:
    schema: object = {"type": "string"}
    for _ in range(3000):
        schema = nested(schema)
    with pytest.raises(SettingError, match=r"the tool 'f' .*nested too deep: give the inner parts names in \$defs"):
        tool_grammar(AnswerFormat(calls), as_tool({"type": "object", "properties": {"a": schema}}, strict=strict))


def test_references_into_alternatives_stay_whole_if_something_is_left_out(vocabulary: Vocabulary) -> None:
    parts = {
        "one": {"oneOf": [{"type": "integer", "minimum": 3}, {"type": "number"}]},
        "two": {"$ref": "#/properties/one/oneOf/0"},
    }
    grammar = tool_grammar(AnswerFormat("llama3"), as_tool({"type": "object", "properties": parts}))
    assert allows(vocabulary, grammar, '{"name": "f", "parameters": {"one": 1.5, "two": 3}}')
    assert not allows(vocabulary, grammar, '{"name": "f", "parameters": {"one": 1, "two": 1.5}}')


def test_a_schema_that_cannot_be_saved_allows_any_object(vocabulary: Vocabulary) -> None:
    grammar = tool_grammar(AnswerFormat("llama3"), as_tool({"$ref": "https://example.org/schema"}))
    assert allows(vocabulary, grammar, '{"name": "f", "parameters": {"anything": [1]}}')
    assert not allows(vocabulary, grammar, '{"name": "f", "parameters": [1]}')


@pytest.mark.parametrize("schema", [None, {}, {"type": "object", "properties": {}}, "nonsense", {"properties": 7}])
def test_a_tool_without_parameters_gets_none(vocabulary: Vocabulary, schema: object) -> None:
    for calls in ("hermes", "qwen3-coder"):
        grammar = tool_grammar(AnswerFormat(calls), as_tool(schema))
        (call, *_) = parse_answer(
            random_text(vocabulary, grammar, 1, MARKS[calls]), AnswerFormat(calls), as_tool({})
        ).tool_calls
        assert json.loads(call.arguments) == {}


@pytest.mark.parametrize(("tools", "choice", "complaint"), [((), None, "no tools"), (TOOLS, "x", "no tool 'x'")])
def test_a_call_of_no_tool_is_refused(tools: tuple[Any, ...], choice: str | None, complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint):
        tool_grammar(AnswerFormat(), tools, choice)
