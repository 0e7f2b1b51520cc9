"""Grammars for what comes after a model's reasoning: calls of tools in its own notation, or a grammar of the user's.

The arguments of calls are what the tool's schema accepts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from specchat_engine.answers import harmony
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.notations import NOTATIONS, Parameters, Written, rule_of
from specchat_engine.answers.parameter_types import kinds_of, listed
from specchat_engine.errors import SettingError
from specchat_engine.grammar.awaited import GrammarStart
from specchat_engine.grammar.json_schema import FORMATS, SchemaRules, literal, shared_lines
from specchat_engine.grammar.until import until
from specchat_engine.prompt.messages import function_of

_NOT_EXPRESSED: Final = frozenset(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "uniqueItems", "contains")
) | {"minProperties", "maxProperties", "propertyNames", "patternProperties", "not", "nullable"}
"""Keywords that a grammar cannot express and that may be left to whoever is called."""

_SYMBOLS: Final = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|#[^\r\n]*|[A-Za-z0-9-]+', re.DOTALL)
_ANSWER: Final = "specchat-answer"
_THOUGHT: Final = "specchat-thought"


def tool_grammar(
    answer_format: AnswerFormat,
    tools: Sequence[Mapping[str, Any]],
    choice: str | None = None,
    *,
    thinking: bool = False,
    parallel: bool = True,
) -> str:
    """The grammar, in GBNF, of answers that call one of the `tools`, or only the one that `choice` names.

    The model may think before. With `thinking` the prompt has opened the reasoning, so that the answer begins in it.
    With `parallel` it may call several tools, unless there is a choice. What a grammar cannot express of a schema is
    left out, such as the bounds of numbers, unless the function is `strict`.

    Raises SettingError for tools that aren't functions, for a choice that isn't one of them, and for a strict schema
    that cannot become a grammar.
    """
    functions = [function for function in map(function_of, tools) if choice in (None, function["name"])]
    if not functions:
        missing = "there are no tools" if choice is None else f"there is no tool {choice!r} to call"
        raise SettingError(f"a call is required and {missing}: name one that is given")
    return _ToolGrammar(answer_format).text(functions, thinking=thinking, several=parallel and choice is None)


def calls_start(answer_format: AnswerFormat, *, thinking: bool) -> GrammarStart | None:
    """Where the grammar of calls begins in an answer that need not call a tool; see `tool_grammar` for `thinking`.

    None for a notation in which a call begins like other text.
    """
    mark = _written(answer_format).mark
    return GrammarStart(mark, answer_format.thinking, thinking) if mark else None


def after_reasoning(grammar: str, answer_format: AnswerFormat, *, opened: bool) -> str:
    """The grammar, in GBNF, of answers whose text after the reasoning follows `grammar`: the model thinks freely.

    `opened` says that the prompt ends inside the reasoning; otherwise there may be none. In harmony the reasoning is a
    message of its own, and `grammar` is that of the final one.
    """
    reasoning, *lines = _reasoning(answer_format, opened=opened)
    header = f"{literal(harmony.FINAL)} " if answer_format.calls == "harmony" else ""
    renamed = _SYMBOLS.sub(lambda symbol: _ANSWER if symbol[0] == "root" else symbol[0], grammar)
    return "\n".join([f"root ::= {reasoning} {header}{_ANSWER}", *lines, renamed])


def _reasoning(answer_format: AnswerFormat, *, opened: bool) -> list[str]:
    """What may or has to come before the rest of an answer, and the rules that this needs."""
    if answer_format.calls == "harmony":
        opening, closing = harmony.THOUGHTS[0]
        return [f"({literal(opening)} {_THOUGHT} {literal(harmony.START)})?", *until(closing, _THOUGHT)]
    opening, closing = answer_format.thinking
    thinks = rf"{_THOUGHT} [ \n]{{0,4}}"
    return [thinks if opened else f"({literal(opening)} {thinks})?", *until(closing, _THOUGHT)]


def _written(answer_format: AnswerFormat) -> Written:
    notation = NOTATIONS.get(answer_format.calls)
    return notation.written if notation and notation.written else Written(())


class _ToolGrammar:
    """Collects the rules."""

    def __init__(self, answer_format: AnswerFormat) -> None:
        self._harmony = answer_format.calls == "harmony"
        self._format = answer_format
        self._written = _written(answer_format)
        self._lines = shared_lines(self._written.values)

    def text(self, functions: Sequence[Mapping[str, Any]], *, thinking: bool, several: bool) -> str:
        """The whole grammar."""
        for number, function in enumerate(functions):
            try:
                self._lines.append(f"call-{number} ::= {self._call(function, number)}")
            except RecursionError:
                name = function["name"]
                raise SettingError(
                    f"the tool {name!r} is nested too deep: give the inner parts names in $defs"
                ) from None
        self._lines.append(f"call ::= {' | '.join(f'call-{number}' for number in range(len(functions)))}")
        written = self._written
        more = f" ({written.between} call)*" if several and not self._harmony else ""
        calls = f"{literal(written.begin)} call{more} {literal(written.end)}"
        reasoning, *lines = _reasoning(self._format, opened=thinking)
        return "\n".join([f"root ::= {reasoning} {calls}", *lines, *self._lines]) + "\n"

    def _call(self, function: Mapping[str, Any], number: int) -> str:
        name, written = function["name"], self._written
        head = harmony.call_head(name) if self._harmony else rule_of(written.head, name)
        if written.parameters:
            arguments = self._in_tags(function, number, written.parameters)
        else:
            arguments = self._held(function, f"args-{number}-", _schema(function), "#")
        return f"{head} {arguments} {rule_of(written.tail, name)}"

    def _in_tags(self, function: Mapping[str, Any], number: int, tags: Parameters) -> str:
        """Parameters in tags of their own, strings without quotes."""
        schema = _schema(function)
        required = listed(schema.get("required"))
        rules = []
        for index, (key, part) in enumerate(schema.get("properties", {}).items()):
            prefix = f"arg-{number}-{index}-"
            kinds = kinds_of(part, schema)
            closes = literal(tags.around + tags.closes)
            if kinds == {"string"} and (
                values := [option for option in listed(part.get("enum")) if isinstance(option, str)]
            ):
                value = f"({' | '.join(map(literal, values))}) {closes}"
            elif "string" in kinds:
                value = f"{prefix}text"
                self._lines += until(tags.closes, value)
            else:
                at = f"#/properties/{key.replace('~', '~0').replace('/', '~1')}"
                value = f"{self._held(function, prefix, schema, at)} {closes}"
            rule = f"{rule_of(tags.opens, key)} {value} {rule_of(tags.after, key)}"
            rules.append(rule if key in required else f"({rule})?")
        return " ".join(rules)

    def _held(self, function: Mapping[str, Any], prefix: str, schema: Mapping[str, Any], pointer: str) -> str:
        """The rule for the part of a schema at a pointer, or for what a grammar can express of it."""
        strict = bool(function.get("strict"))
        known = schema if strict else _loosened(schema)
        rules = SchemaRules(known, prefix, exclusive=strict, writing=self._written.values)
        try:
            rule = rules.of(pointer)
        except SettingError as error:
            if strict:
                raise SettingError(f"the tool {function['name']!r} is strict, but {error}") from None
            return "object" if pointer == "#" else "value"
        self._lines += rules.lines
        return rule


def _schema(function: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a function's arguments; without properties there are none."""
    schema = function.get("parameters")
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties", {}), Mapping):
        return {"type": "object", "additionalProperties": False}
    if not schema.get("properties") and schema.keys() <= {"type", "properties", "required", "additionalProperties"}:
        more = schema.get("additionalProperties", False)
        return {"type": "object", "additionalProperties": more}
    return schema


def _loosened(schema: Any) -> Any:
    """The schema without the keywords that a grammar cannot express."""
    if not isinstance(schema, Mapping):
        return schema
    expressible = {key: value for key, value in schema.items() if key not in _NOT_EXPRESSED}
    if expressible.get("format") not in FORMATS:
        expressible.pop("format", None)
    for key in ("properties", "$defs", "definitions"):
        if isinstance(expressible.get(key), Mapping):
            expressible[key] = {name: _loosened(part) for name, part in expressible[key].items()}
    for key in ("items", "additionalProperties"):
        if key in expressible:
            expressible[key] = _loosened(expressible[key])
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if isinstance(expressible.get(key), list):
            expressible[key] = [_loosened(part) for part in expressible[key]]
    return expressible
