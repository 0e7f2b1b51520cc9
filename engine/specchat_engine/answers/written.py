"""How calls are written in each notation, for the grammars that require them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specchat_engine.answers.format import CallFormat
from specchat_engine.answers.gemma import QUOTE
from specchat_engine.grammar.json_schema import JSON, Writing, literal
from specchat_engine.grammar.until import until

_NEW_LINE: Final = literal("\n")
_TAG: Final = re.compile(r"<[^<>\n]+>|\[[A-Z_]+\]")
_ID: Final = "[a-zA-Z0-9]{9}"

Pieces = tuple[str, ...]
"""Literal texts, with a rule between each two. `%(name)s` in a text is a name, `%(json)s` the same name as JSON."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is written around a parameter that has tags of its own; `closes` ends its value."""

    opens: Pieces
    around: str
    closes: str
    after: Pieces


@dataclass(frozen=True, slots=True)
class Written:
    """What is written around the arguments of a call, and around and between all calls.

    The arguments are an object in the notation of `values`, or `parameters` with tags.
    """

    head: Pieces
    tail: Pieces = ()
    between: str = ""
    begin: str = ""
    end: str = ""
    values: Writing = JSON
    parameters: Parameters | None = None

    @property
    def mark(self) -> str:
        """The tag that begins the calls; empty if only their content tells them from other text."""
        tag = _TAG.match(self.begin + self.head[0] if self.head else self.begin)
        return tag[0] if tag else ""


def rule_of(pieces: Pieces, name: str) -> str:
    """The rule for these pieces with a name."""
    names = {"name": name, "json": json.dumps(name, ensure_ascii=False)}
    return " ".join(piece if place % 2 else literal(piece % names) for place, piece in enumerate(pieces) if piece)


_PLAIN_KEY: Final = re.compile(r"[^\s{}\[\],:<\"]+")


def _gemma_key(name: str) -> str:
    return name if _PLAIN_KEY.fullmatch(name) else _gemma_value(name)


def _gemma_value(value: Any) -> str:
    if isinstance(value, str):
        return f"{QUOTE}{value}{QUOTE}"
    if isinstance(value, dict):
        return f"{{{','.join(f'{_gemma_key(key)}:{_gemma_value(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_gemma_value, value))}]"
    return json.dumps(value)


def _rules(lines: Sequence[str]) -> dict[str, str]:
    return {name: rule for name, _, rule in (line.partition(" ::= ") for line in lines)}


_GEMMA: Final = Writing(
    _gemma_value,
    _gemma_key,
    {
        "space": '""',
        "quote": literal(QUOTE),
        "char": "[^<]",
        "string": "quote quoted",
        **_rules(until(QUOTE, "quoted")),
        "key": "[a-zA-Z_] [a-zA-Z0-9_-]{0,63}",
    },
)
"""Strings of a limited length have no `<`: a rule cannot count their characters and look for the mark at once."""

_QWEN_PARAMETERS: Final = Parameters(("<parameter=%(name)s>\n",), "\n", "</parameter>", ("\n",))
_GLM_LINE: Final = f"{_NEW_LINE}?"
_GLM_PARAMETERS: Final = Parameters(
    ("<arg_key>%(name)s</arg_key>", _GLM_LINE, "<arg_value>"), "", "</arg_value>", ("", _GLM_LINE)
)
_MINIMAX_PARAMETERS: Final = Parameters(('<parameter name="%(name)s">',), "", "</parameter>", ("\n",))
_MINICPM_PARAMETERS: Final = Parameters(('<param name="%(name)s">',), "", "</param>", ("",))

WRITTEN: Final[Mapping[CallFormat, Written]] = {
    "hermes": Written(('<tool_call>\n{"name": %(json)s, "arguments": ',), ("}\n</tool_call>",), _NEW_LINE),
    "qwen3-coder": Written(
        ("<tool_call>\n<function=%(name)s>\n",),
        ("</function>\n</tool_call>",),
        _NEW_LINE,
        parameters=_QWEN_PARAMETERS,
    ),
    "glm": Written(("<tool_call>%(name)s", _GLM_LINE), ("</tool_call>",), _GLM_LINE, parameters=_GLM_PARAMETERS),
    "llama3": Written(('{"name": %(json)s, "parameters": ',), ("}",), literal("; ")),
    "json": Written(('{"name": %(json)s, "arguments": ',), ("}",), _NEW_LINE),
    "mistral": Written(
        ('{"name": %(json)s, "arguments": ',),
        ("", f"""({literal(', "id": "')} {_ID} {literal('"')})?""", "}"),
        literal(", "),
        "[TOOL_CALLS][",
        "]",
    ),
    "mistral-args": Written(("[TOOL_CALLS]%(name)s[ARGS]",)),
    "mistral-ids": Written(("[TOOL_CALLS]%(name)s[CALL_ID]", _ID, "[ARGS]")),
    "deepseek-r1": Written(
        ("<｜tool▁call▁begin｜>function<｜tool▁sep｜>%(name)s\n```json\n",),
        ("\n```<｜tool▁call▁end｜>",),
        _NEW_LINE,
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
    ),
    "deepseek-v3.1": Written(
        ("<｜tool▁call▁begin｜>%(name)s<｜tool▁sep｜>",),
        ("<｜tool▁call▁end｜>",),
        begin="<｜tool▁calls▁begin｜>",
        end="<｜tool▁calls▁end｜>",
    ),
    "kimi-k2": Written(
        ("<|tool_call_begin|>functions.%(name)s:", "[0-9]{1,4}", "<|tool_call_argument_begin|>"),
        ("<|tool_call_end|>",),
        begin="<|tool_calls_section_begin|>",
        end="<|tool_calls_section_end|>",
    ),
    "minimax-m2": Written(
        ('<invoke name="%(name)s">\n',),
        ("</invoke>",),
        _NEW_LINE,
        "<minimax:tool_call>\n",
        "\n</minimax:tool_call>",
        parameters=_MINIMAX_PARAMETERS,
    ),
    "minicpm5": Written(('<function name="%(name)s">',), ("</function>",), parameters=_MINICPM_PARAMETERS),
    "cohere": Written(
        ('{"tool_call_id": "', "[0-9]{1,4}", '", "tool_name": %(json)s, "parameters": '),
        ("}",),
        literal(",\n    "),
        "<|START_ACTION|>[\n    ",
        "\n]<|END_ACTION|>",
    ),
    "gigachat": Written(('<|function_call|>{"name": %(json)s, "arguments": ',), ("}",)),
    "gemma4": Written(("<|tool_call>call:%(name)s",), ("<tool_call|>",), values=_GEMMA),
}
"""All notations but harmony, whose calls have no fixed head."""
