"""Grammars for what comes after a model's reasoning: calls of tools in its own notation, or a grammar of the user's.

The arguments of calls are what the tool's schema accepts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from specchat_engine.answers import gemma, harmony
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.notations import NOTATIONS, Parameters, Written, rule_of
from specchat_engine.answers.parameter_types import kinds_of, options_of, properties_of, required_of
from specchat_engine.errors import SettingError
from specchat_engine.grammar.awaited import GrammarStart
from specchat_engine.grammar.schema import check_schema, lenient, part_of, prepared, referred
from specchat_engine.grammar.source import literal, named
from specchat_engine.prompt.messages import function_of

_ANSWER: Final = "answer"


def tool_grammar(
    answer_format: AnswerFormat,
    tools: Sequence[Mapping[str, Any]],
    choice: str | None = None,
    *,
    thinking: bool = False,
    parallel: bool = True,
) -> str:
    """The grammar, in Lark, of answers that call one of the `tools`, or only the one that `choice` names.

    The model may think before if it `thinks` by its format. With `thinking` the prompt has opened the reasoning, so
    that the answer begins in it. With `parallel` it may call several tools, unless there is a choice. What a grammar
    cannot express of a schema is left out, such as the bounds of numbers, unless the function is `strict`.

    Raises SettingError for tools that aren't functions, for a choice that isn't one of them, and for a strict schema
    that cannot become a grammar.
    """
    functions = [function for function in map(function_of, tools) if choice in (None, function["name"])]
    if not functions:
        missing = "there are no tools" if choice is None else f"there is no tool {choice!r} to call"
        raise SettingError(f"a call is required and {missing}: name one that is given")
    calls = _Calls(answer_format)
    answer = calls.of(functions, several=parallel and choice is None)
    return _after_thought(answer, calls.rules, answer_format, opened=thinking)


def calls_start(answer_format: AnswerFormat, *, thinking: bool) -> GrammarStart | None:
    """Where the grammar of calls begins in an answer that need not call a tool; see `tool_grammar` for `thinking`.

    None for a notation in which a call begins like other text.
    """
    mark = _written(answer_format).mark
    return GrammarStart(mark, answer_format.thinking, thinking) if mark else None


def can_choose_calls(answer_format: AnswerFormat) -> bool:
    """Whether a grammar can leave it to the model to call or to answer: its calls do not begin like other text."""
    return answer_format.calls == "harmony" or bool(_written(answer_format).mark)


def after_reasoning(
    grammar: str,
    answer_format: AnswerFormat,
    tools: Sequence[Mapping[str, Any]] = (),
    *,
    opened: bool,
    parallel: bool = True,
) -> str:
    """The grammar of answers whose text after the reasoning follows `grammar`, in any syntax: the model thinks freely.

    It may call one of the `tools` instead, or several if it may in `parallel`; see `can_choose_calls`.

    `opened` says that the prompt ends inside the reasoning; otherwise there may be none, or has to be none if the model
    does not think by its format. In harmony the reasoning is a message of its own, and `grammar` is that of the final
    one. Raises SettingError for a grammar that cannot be read, and what `tool_grammar` raises.
    """
    header = literal(harmony.FINAL) if answer_format.calls == "harmony" else ""
    calls, answer = _Calls(answer_format), f"{header} @{_ANSWER}"
    if tools:
        answer = f"{answer} | {calls.of([*map(function_of, tools)], several=parallel)}"
    whole = _after_thought(answer, calls.rules, answer_format, opened=opened)
    return json.dumps({"grammars": [{"lark_grammar": whole}, named(grammar, _ANSWER)]})


def _after_thought(answer: str, rules: Sequence[str], answer_format: AnswerFormat, *, opened: bool) -> str:
    """The grammar of an expression, which may need rules, after the reasoning."""
    reasoning, *lines = _reasoning(answer_format, opened=opened)
    return "\n".join([f"start: {reasoning} ({answer})", *lines, *rules]) + "\n"


def _reasoning(answer_format: AnswerFormat, *, opened: bool) -> list[str]:
    """What may or has to come before the rest of an answer, and the rules that this needs."""
    if not (opened or answer_format.thinks):
        return [""]
    if answer_format.calls == "harmony":
        opening, closing = harmony.THOUGHTS[0]
        return [f"({literal(opening)} thought {literal(harmony.START)})?", *_until(closing, "thought")]
    opening, closing = answer_format.thinking
    thinks = r"thought /[ \n]{0,4}/"
    return [thinks if opened else f"({literal(opening)} {thinks})?", *_until(closing, "thought")]


def _until(mark: str, name: str) -> list[str]:
    """The rule for any text up to and including a mark."""
    return [rf"{name}[lazy]: /(.|\n)*/ {literal(mark)}"]


def _written(answer_format: AnswerFormat) -> Written:
    notation = NOTATIONS.get(answer_format.calls)
    return notation.written if notation and notation.written else Written(())


class _Calls:
    """Makes the expression of calls, and collects the rules that it needs."""

    def __init__(self, answer_format: AnswerFormat) -> None:
        self._harmony = answer_format.calls == "harmony"
        self._written = _written(answer_format)
        self.rules: list[str] = []

    def of(self, functions: Sequence[Mapping[str, Any]], *, several: bool) -> str:
        """The expression of a call of one of the functions, or of several."""
        written = self._written
        self.rules += [gemma.RULES] if written.gemma else []
        for number, function in enumerate(functions):
            try:
                self.rules.append(f"call_{number}: {self._call(function, number)}")
            except RecursionError:
                name = function["name"]
                raise SettingError(
                    f"the tool {name!r} is nested too deep: give the inner parts names in $defs"
                ) from None
        self.rules.append(f"call: {' | '.join(f'call_{number}' for number in range(len(functions)))}")
        more = f" ({written.between} call)*" if several and not self._harmony else ""
        begin, end = (literal(text) if text else "" for text in (written.begin, written.end))
        return f"{begin} call{more} {end}"

    def _call(self, function: Mapping[str, Any], number: int) -> str:
        name, written = function["name"], self._written
        head = harmony.call_head(name) if self._harmony else rule_of(written.head, name)
        if written.parameters:
            arguments = self._in_tags(function, number, written.parameters)
        elif written.gemma:
            arguments = self._of_gemma(_schema(function), f"args_{number}_")
        else:
            arguments = self._json(function, f"args_{number}", _schema(function), {"type": "object"})
        return f"{head} {arguments} {rule_of(written.tail, name)}"

    def _in_tags(self, function: Mapping[str, Any], number: int, tags: Parameters) -> str:
        """Parameters in tags of their own, strings without quotes."""
        schema = _schema(function)
        required = required_of(schema)
        rules = []
        for index, (key, place) in enumerate(properties_of(schema).items()):
            name = f"arg_{number}_{index}"
            part = referred(place, schema)
            kinds = kinds_of(part, schema)
            closes = literal(tags.around + tags.closes)
            values = [option for option in options_of(part, schema) if isinstance(option, str)]
            if kinds == {"string"} and values:
                value = f"({' | '.join(map(literal, values))}) {closes}"
            elif "string" in kinds:
                value = name
                self.rules += _until(tags.closes, value)
            else:
                value = f"{self._json(function, name, part_of(schema, place), {})} {closes}"
            rule = f"{rule_of(tags.opens, key)} {value} {rule_of(tags.after, key)}"
            rules.append(rule if key in required else f"({rule})?")
        return " ".join(rules)

    def _json(
        self, function: Mapping[str, Any], name: str, schema: Mapping[str, Any], otherwise: Mapping[str, Any]
    ) -> str:
        """The rule for JSON that a schema describes, or for what a grammar can express of it; at worst for another."""
        try:
            if function.get("strict"):
                check_schema(schema)
                usable = prepared(schema)
            else:
                usable, _ = lenient(schema)
        except SettingError as error:
            if function.get("strict") or "too deep" in str(error):
                strict = "is strict, but " * bool(function.get("strict"))
                raise SettingError(f"the tool {function['name']!r} {strict}{error}") from None
            usable = prepared(otherwise)
        self.rules.append(f"{name}: %json {json.dumps(usable)}")
        return name

    def _of_gemma(self, schema: Mapping[str, Any], prefix: str) -> str:
        """The rule for an object in Gemma's notation."""
        rules = gemma.GemmaRules(schema, prefix)
        try:
            name = rules.of("#")
        except (LookupError, TypeError, ValueError, AttributeError):
            return "gemma_object"
        self.rules += rules.lines
        return name


def _schema(function: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a function's arguments, an object; without properties there are none."""
    schema = function.get("parameters")
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties", {}), Mapping):
        return {"type": "object", "additionalProperties": False}
    if not schema.get("properties") and schema.keys() <= {"type", "properties", "required", "additionalProperties"}:
        more = schema.get("additionalProperties", False)
        return {"type": "object", "additionalProperties": more}
    return {"type": "object", **schema}
