"""A call in the tags of Qwen3-Coder, whose parameters become the arguments' JSON as they come.

<function=name>
<parameter=key>
value
</parameter>
</function>
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from specchat_engine.answers.parts import AnswerPart, CallState, PartKind, held_back

_NAME: Final = re.compile(r"([^<>\s]{1,128})>")
_MAY_BE_NAME: Final = re.compile(r"[^<>\s]{0,128}")
_OPEN: Final = "<parameter="
_CLOSE: Final = "</parameter>"
_END: Final = "</function>"


class XmlCall:
    """Follows the text after `<function=`.

    The call is told once its name is there. A parameter that the function's schema calls a string is told as it comes,
    any other once it is complete.
    """

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        """`schemas` are those of the functions' parameters, by the functions' names."""
        self.text = ""
        self.state: CallState = "open"
        self._functions = schemas
        self._schemas: Mapping[str, Any] = {}
        self._named = self._in_text = False
        self._key: str | None = None
        self._count = 0

    def take(self, text: str) -> list[AnswerPart]:
        """Follows more of the text; see `CallReader`."""
        self.text += text
        parts: list[AnswerPart] = []
        while self.state == "open" and (told := self._step()) is not None:
            parts += told
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
        found = _NAME.match(self.text)
        if found:
            self._named = True
            schema = self._functions.get(found[1])
            properties = schema.get("properties") if isinstance(schema, Mapping) else None
            self._schemas = properties if isinstance(properties, Mapping) else {}
            self.text = self.text[found.end() :]
            return [AnswerPart(PartKind.CALL, found[1]), _arguments("{")]
        if not _MAY_BE_NAME.fullmatch(self.text):
            self.state = "failed"
        return None

    def _between(self) -> list[AnswerPart] | None:
        """Before a parameter or the end."""
        text = self.text.lstrip()
        if text.startswith(_OPEN):
            found = _NAME.match(text, len(_OPEN))
            if found:
                self._key, self._count = found[1], self._count + 1
                self.text = text[found.end() :]
                return [_arguments(", " * (self._count > 1) + json.dumps(self._key, ensure_ascii=False) + ": ")]
            if _MAY_BE_NAME.fullmatch(text, len(_OPEN)):
                return None
        elif any(mark.startswith(text) for mark in (_OPEN, _END)):
            return None
        self.state, self.text = "complete", text.removeprefix(_END)
        return [_arguments("}")]

    def _value(self) -> list[AnswerPart] | None:
        """The beginning of a string, or any other value once it is complete."""
        schema = self._schemas.get(self._key or "", True)
        if schema is not True and kinds_of(schema) == {"string"}:
            if not self.text:
                return None
            self._in_text, self.text = True, self.text.removeprefix("\n")
            return [_arguments('"')]
        value, found, rest = self.text.partition(_CLOSE)
        if not found:
            return None
        self._key, self.text = None, rest
        return [_arguments(_as_json(value.removeprefix("\n").removesuffix("\n"), schema))]

    def _string(self) -> list[AnswerPart] | None:
        """More of a string that has begun."""
        value, found, rest = self.text.partition(_CLOSE)
        if found:
            self._key, self._in_text, self.text = None, False, rest
            return [_arguments(_escaped(value.removesuffix("\n")) + '"')]
        certain = value[: len(value) - held_back(value, (f"\n{_CLOSE}", _CLOSE))]
        self.text = value[len(certain) :]
        return [_arguments(_escaped(certain))] if certain else None

    def finish(self) -> list[AnswerPart]:
        """The rest of the call, once the text has ended; a value that was cut off stays open."""
        if not self._named:
            self.state = "failed"
            return []
        rest, self.text, self.state = self.text, "", "complete"
        if self._key is None:
            return [_arguments("}")]
        return [_arguments(_escaped(rest) if self._in_text else rest.removeprefix("\n"))]


def _arguments(text: str) -> AnswerPart:
    return AnswerPart(PartKind.ARGUMENTS, text)


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _as_json(value: str, schema: Any) -> str:
    """A parameter's value as JSON: what its schema wants, or else what it looks like."""
    plain = {"True": "true", "False": "false", "None": "null"}.get(value.strip(), value)
    if "string" in kinds_of(schema):
        return (
            "null" if plain.strip() == "null" and "null" in kinds_of(schema) else json.dumps(value, ensure_ascii=False)
        )
    try:
        return json.dumps(json.loads(plain, parse_constant=_refused), ensure_ascii=False)
    except (ValueError, RecursionError):
        return json.dumps(value, ensure_ascii=False)


def kinds_of(schema: Any) -> set[str]:
    """The types that a schema names, also in its alternatives and by its values; none if it names none."""
    if not isinstance(schema, Mapping):
        return set()
    named = schema.get("type")
    kinds = {named} if isinstance(named, str) else {kind for kind in listed(named) if isinstance(kind, str)}
    if not kinds:
        kinds = {"string" for value in (*listed(schema.get("enum")), schema.get("const")) if isinstance(value, str)}
    return kinds.union(*(kinds_of(one) for key in ("anyOf", "oneOf") for one in listed(schema.get(key))))


def listed(value: Any) -> list[Any]:
    """The value if it is a list, or else none."""
    return value if isinstance(value, list) else []


def _refused(name: str) -> None:
    raise ValueError(name)
