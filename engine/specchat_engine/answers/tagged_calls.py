"""Calls whose parameters are in tags of their own, strings without quotes. They become JSON as they come.

    <function=name>              name
    <parameter=key>              <arg_key>key</arg_key>
    value                        <arg_value>value</arg_value>
    </parameter>                 </tool_call>
    </function>

Qwen3-Coder writes as on the left, GLM as on the right, from GLM 4.7 on without the new lines. Others name the function
and the keys in attributes:

    <invoke name="name">         MiniMax M2; DeepSeek V3.2 with `｜DSML｜` in each tag, and whether a value is a string
    <parameter name="key">value</parameter>
    </invoke>

MiniCPM 5 has `<function name="name">` and `<param name="key">` instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specchat_engine.answers.json_calls import escaped
from specchat_engine.answers.parameter_types import as_json, kinds_of, properties_of
from specchat_engine.answers.parts import AnswerPart, CallState, PartKind, held_back
from specchat_engine.grammar.schema import referred

_MAY_BE_NAME: Final = re.compile(r"\s{0,8}[^<>\s]{0,128}\s{0,8}")


@dataclass(frozen=True, slots=True)
class CallTags:
    """What is written around the parameters of a call.

    `name` and `key` match the function's name and a parameter's key with what follows it; the name may have a second
    group, which is there if only a known function can be meant. `begun` matches a key that is not complete, up to one
    of the `marks`. `around` may be at both ends of a value, and is not part of it.
    """

    name: re.Pattern[str]
    opens: str
    key: re.Pattern[str]
    begun: re.Pattern[str]
    around: str
    closes: str
    ends: str
    marks: tuple[str, ...] = ()

    def may_become(self, pattern: re.Pattern[str], text: str) -> bool:
        """Whether a text fits this pattern, its end apart if that may become a mark."""
        return pattern.fullmatch(text[: len(text) - held_back(text, self.marks)]) is not None


QWEN: Final = CallTags(
    name=re.compile(r"([^<>\s]{1,128})>"),
    opens="<parameter=",
    key=re.compile(r"([^<>\s]{1,128})>"),
    begun=re.compile(r"[^<>\s]{0,128}"),
    around="\n",
    closes="</parameter>",
    ends="</function>",
)
GLM: Final = CallTags(
    name=re.compile(r"\s{0,8}([\w.:/-]{1,64})\s{0,8}(?=<arg_key>|(</tool_call>))"),
    opens="<arg_key>",
    key=re.compile(r"\s{0,8}([^<>]{1,128}?)\s{0,8}</arg_key>\s{0,8}<arg_value>"),
    begun=re.compile(r"[^<>]{0,144}(?:</arg_key>\s{0,8})?"),
    around="",
    closes="</arg_value>",
    ends="",
    marks=("</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>"),
)


_ATTRIBUTE: Final = re.compile(r'([^<>"\s]{1,128})">')


_OF_KNOWN: Final = re.compile(r'([^<>"\s]{1,128})(">)')
"""Other XML looks the same, and an answer may have some."""


def _attributes(
    opens: str, closes: str, ends: str, name: re.Pattern[str] = _OF_KNOWN, key: re.Pattern[str] = _ATTRIBUTE
) -> CallTags:
    """Tags with the names in attributes."""
    begun = re.compile(r'[^<>"\s]{0,128}(?:"[^<>]{0,24})?')
    return CallTags(name=name, opens=opens, key=key, begun=begun, around="", closes=closes, ends=ends)


MINIMAX: Final = _attributes('<parameter name="', "</parameter>", "</invoke>")
MINICPM: Final = _attributes('<param name="', "</param>", "</function>")
DSML: Final = _attributes(
    '<｜DSML｜parameter name="',
    "</｜DSML｜parameter>",
    "</｜DSML｜invoke>",
    name=_ATTRIBUTE,
    key=re.compile(r'([^<>"\s]{1,128})"(?: string="(?:true|false)")?>'),
)


class TaggedCall:
    """Follows the text from the function's name on.

    The call is returned once its name is there. A parameter that the function's schema calls a string is returned as it
    comes, any other once it is complete. Tags that other texts may have, and a mere name between tags, are a call only
    of a known function.
    """

    def __init__(self, tags: CallTags, schemas: Mapping[str, Any]) -> None:
        """`schemas` are those of the functions' parameters, by the functions' names."""
        self.text = ""
        self.state: CallState = "open"
        self._tags = tags
        self._functions = schemas
        self._schema: Any = None
        self._places: Mapping[str, str] = {}
        self._named = self._in_text = False
        self._key: str | None = None
        self._count = 0

    def take(self, text: str) -> list[AnswerPart]:
        """Follows more of the text; see `CallReader`."""
        self.text += text
        parts: list[AnswerPart] = []
        while self.state == "open" and (more := self._step()) is not None:
            parts += more
        return parts

    def _step(self) -> list[AnswerPart] | None:
        """The next parts; None if more text is needed for them."""
        if not self._named:
            return self._begin()
        if self._in_text:
            return self._string()
        if self._key is not None:
            return self._value()
        return self._between()

    def _begin(self) -> list[AnswerPart] | None:
        match = self._tags.name.match(self.text)
        if match and not (match.lastindex == 2 and match[1] not in self._functions):
            self._named = True
            self._schema = self._functions.get(match[1])
            self._places = properties_of(self._schema)
            self.text = self.text[match.end() :]
            return [AnswerPart(PartKind.CALL, match[1]), _arguments("{")]
        if match or not self._tags.may_become(_MAY_BE_NAME, self.text):
            self.state = "failed"
        return None

    def _between(self) -> list[AnswerPart] | None:
        """Before a parameter or the end."""
        tags, text = self._tags, self.text.lstrip()
        if text.startswith(tags.opens):
            match = tags.key.match(text, len(tags.opens))
            if match:
                self._key, self._count = match[1], self._count + 1
                self.text = text[match.end() :]
                return [_arguments(", " * (self._count > 1) + json.dumps(self._key, ensure_ascii=False) + ": ")]
            if tags.may_become(tags.begun, text.removeprefix(tags.opens)):
                return None
        elif any(mark.startswith(text) for mark in (tags.opens, tags.ends)):
            return None
        self.state, self.text = "complete", text.removeprefix(tags.ends)
        return [_arguments("}")]

    def _value(self) -> list[AnswerPart] | None:
        """The beginning of a string, or any other value once it is complete."""
        place, around = self._places.get(self._key or ""), self._tags.around
        schema = referred(place, self._schema) if place else True
        if kinds_of(schema, self._schema) == {"string"}:
            if not self.text:
                return None
            self._in_text, self.text = True, self.text.removeprefix(around)
            return [_arguments('"')]
        value, mark, rest = self.text.partition(self._tags.closes)
        if not mark:
            return None
        self._key, self.text = None, rest
        return [_arguments(as_json(value.removeprefix(around).removesuffix(around), schema, self._schema))]

    def _string(self) -> list[AnswerPart] | None:
        """More of a string that has begun."""
        closes, around = self._tags.closes, self._tags.around
        value, mark, rest = self.text.partition(closes)
        if mark:
            self._key, self._in_text, self.text = None, False, rest
            return [_arguments(escaped(value.removesuffix(around)) + '"')]
        certain = value[: len(value) - held_back(value, (around + closes, closes))]
        self.text = value[len(certain) :]
        return [_arguments(escaped(certain))] if certain else None

    def finish(self) -> list[AnswerPart]:
        """The rest of the call, once the text has ended; a value that was cut off stays open."""
        if not self._named:
            self.state = "failed"
            return []
        rest, self.text, self.state = self.text, "", "complete"
        if self._key is None:
            return [_arguments("}")]
        return [_arguments(escaped(rest) if self._in_text else rest.removeprefix(self._tags.around))]


def _arguments(text: str) -> AnswerPart:
    return AnswerPart(PartKind.ARGUMENTS, text)
