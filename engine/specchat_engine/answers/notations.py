"""The notations of calls: how a chat template shows one, how its calls are read, and how they are written.

    Hermes, Qwen and many others    <tool_call>{"name": …, "arguments": {…}}</tool_call>
    Qwen3-Coder                     <tool_call><function=name><parameter=key>value</parameter></function></tool_call>
    GLM 4.5 to 4.7                  <tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>
    Llama 3                         <|python_tag|>{"name": …, "parameters": {…}}
    Mistral                         [TOOL_CALLS][{"name": …, "arguments": {…}}] and [TOOL_CALLS]name[ARGS]{…}
    DeepSeek V3 and R1              <｜tool▁call▁begin｜>function<｜tool▁sep｜>name, {…} in a block of code, and an end
    DeepSeek V3.1                   <｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜>
    Kimi K2                         <|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>
    Gemma 4                         <|tool_call>call:name{key:<|"|>value<|"|>}<tool_call|>
    MiniMax M2                      <invoke name="name"><parameter name="key">value</parameter></invoke>
    DeepSeek V3.2 and V4            the same with `｜DSML｜` in each tag
    MiniCPM 5                       <function name="name"><param name="key">value</param></function>
    LFM 2                           <|tool_call_start|>[name(key="value")]<|tool_call_end|>
    Cohere                          <|START_ACTION|>[{"tool_name": …, "parameters": {…}}]<|END_ACTION|>
    GigaChat 3.1                    <|function_call|>{"name": …, "arguments": {…}}

DeepSeek, Kimi and MiniMax put marks around all calls too. Objects as Hermes models write them may stand between any
marks. `harmony` has a notation of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specchat_engine.answers.gemma import QUOTE, GemmaArguments
from specchat_engine.answers.json_calls import JsonCalls
from specchat_engine.answers.named_calls import ArgumentsReader, JsonArguments, NamedCall
from specchat_engine.answers.parts import CallReader
from specchat_engine.answers.python_calls import PythonCalls
from specchat_engine.answers.tagged_calls import DSML, GLM, MINICPM, MINIMAX, QWEN, CallTags, TaggedCall
from specchat_engine.grammar.source import literal

_TAG: Final = re.compile(r"<[^<>\n]+>|\[[A-Z_]+\]")

Pieces = tuple[str, ...]
"""Literal texts, with an expression of Lark between each two. `%(name)s` in a text is a name, and `%(json)s` the same
name as JSON."""


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

    The arguments are an object, in JSON or in `gemma`'s notation, or `parameters` with tags.
    """

    head: Pieces
    tail: Pieces = ()
    between: str = ""
    begin: str = ""
    end: str = ""
    gemma: bool = False
    parameters: Parameters | None = None

    @property
    def mark(self) -> str:
        """The tag that begins the calls; empty if only their content distinguishes them from other text."""
        tag = _TAG.match(self.begin + self.head[0] if self.head else self.begin)
        return tag[0] if tag else ""


def rule_of(pieces: Pieces, name: str) -> str:
    """The expression of Lark for these pieces with a name."""
    names = {"name": name, "json": json.dumps(name, ensure_ascii=False)}
    return " ".join(piece if index % 2 else literal(piece % names) for index, piece in enumerate(pieces) if piece)


Schemas = Mapping[str, Any]
"""The schemas of the functions' parameters, by the functions' names."""


@dataclass(frozen=True, slots=True)
class CallMark:
    """What comes before a call. Each of the marks that may come after it is optional, and they come in this order.

    `objects` are the characters that begin calls as JSON, which may stand there too; the reader reads all others.
    """

    opens: str
    closes: tuple[str, ...] = ()
    reader: Callable[[Schemas], CallReader] | None = None
    objects: str = "{["

    def reader_for(self, text: str, schemas: Schemas) -> CallReader | None:
        """What reads a call that begins with this text, which is not empty; None if nothing can."""
        if text[0] in self.objects:
            return JsonCalls()
        return self.reader(schemas) if self.reader else None


@dataclass(frozen=True, slots=True)
class Notation:
    """A way to write calls.

    `shown_by` has texts that are all in the templates of models with it, or alternatives of such texts. `marks` come
    before its calls. Without `written` such calls are read and never required.
    """

    shown_by: tuple[tuple[str, ...], ...] = ()
    marks: tuple[CallMark, ...] = ()
    written: Written | None = None


def _named(head: str, arguments: Callable[[], ArgumentsReader] = JsonArguments) -> Callable[[Schemas], CallReader]:
    pattern = re.compile(rf"\s*{head}\s*")
    return lambda _: NamedCall(pattern, arguments())


def _tagged(tags: CallTags) -> Callable[[Schemas], CallReader]:
    return lambda schemas: TaggedCall(tags, schemas)


_NAME: Final = r"([\w.:/-]{1,64}?)"
_ID: Final = "/[a-zA-Z0-9]{9}/"
_NEW_LINE: Final = literal("\n")
_GLM_LINE: Final = f"{_NEW_LINE}?"

HERMES: Final = Written(('<tool_call>\n{"name": %(json)s, "arguments": ',), ("}\n</tool_call>",), _NEW_LINE)

NOTATIONS: Final[Mapping[str, Notation]] = {
    "mistral-ids": Notation(
        (("[TOOL_CALLS]", "[CALL_ID]"),), (), Written(("[TOOL_CALLS]%(name)s[CALL_ID]", _ID, "[ARGS]"))
    ),
    "mistral-args": Notation(
        (("[TOOL_CALLS]", "[ARGS]"),),
        (CallMark("[TOOL_CALLS]", (), _named(rf"{_NAME}(?:\[CALL_ID\][\w-]{{1,40}})?\[ARGS\]")),),
        Written(("[TOOL_CALLS]%(name)s[ARGS]",)),
    ),
    "mistral": Notation(
        (("[TOOL_CALLS]",),),
        (),
        Written(
            ('{"name": %(json)s, "arguments": ',),
            ("", f"""({literal(', "id": "')} {_ID} {literal('"')})?""", "}"),
            literal(", "),
            "[TOOL_CALLS][",
            "]",
        ),
    ),
    "qwen3-coder": Notation(
        (("<tool_call>", "<function="),),
        (CallMark("<function=", ("</tool_call>",), _tagged(QWEN)),),
        Written(
            ("<tool_call>\n<function=%(name)s>\n",),
            ("</function>\n</tool_call>",),
            _NEW_LINE,
            parameters=Parameters(("<parameter=%(name)s>\n",), "\n", "</parameter>", ("\n",)),
        ),
    ),
    "glm": Notation(
        (("<tool_call>", "<arg_key>"),),
        (CallMark("<tool_call>", ("</tool_call>",), _tagged(GLM)),),
        Written(
            ("<tool_call>%(name)s", _GLM_LINE),
            ("</tool_call>",),
            _GLM_LINE,
            parameters=Parameters(
                ("<arg_key>%(name)s</arg_key>", _GLM_LINE, "<arg_value>"), "", "</arg_value>", ("", _GLM_LINE)
            ),
        ),
    ),
    "hermes": Notation(
        (("<tool_call>",),),
        (
            CallMark("<tool_calls>", ("</tool_calls>",)),
            CallMark("<TOOLCALL>", ("</TOOLCALL>",)),
            CallMark("<|tool_call|>"),
        ),
        HERMES,
    ),
    "deepseek-r1": Notation(
        (("<｜tool▁call▁begin｜>", "```json"),),
        (),
        Written(
            ("<｜tool▁call▁begin｜>function<｜tool▁sep｜>%(name)s\n```json\n",),
            ("\n```<｜tool▁call▁end｜>",),
            _NEW_LINE,
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁calls▁end｜>",
        ),
    ),
    "deepseek-v3.1": Notation(
        (("<｜tool▁call▁begin｜>",),),
        (
            CallMark("<｜tool▁calls▁begin｜>"),
            CallMark(
                "<｜tool▁call▁begin｜>",
                ("```", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"),
                _named(rf"(?:function<｜tool▁sep｜>)?{_NAME}\s*(?:<｜tool▁sep｜>|```json)"),
            ),
        ),
        Written(
            ("<｜tool▁call▁begin｜>%(name)s<｜tool▁sep｜>",),
            ("<｜tool▁call▁end｜>",),
            begin="<｜tool▁calls▁begin｜>",
            end="<｜tool▁calls▁end｜>",
        ),
    ),
    "deepseek-v3.2": Notation(
        (),
        (
            CallMark("<｜DSML｜function_calls>"),
            CallMark("<｜DSML｜tool_calls>"),
            CallMark('<｜DSML｜invoke name="', ("</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"), _tagged(DSML)),
        ),
    ),
    "kimi-k2": Notation(
        (("<|tool_call_begin|>",),),
        (
            CallMark("<|tool_calls_section_begin|>"),
            CallMark(
                "<|tool_call_begin|>",
                ("<|tool_call_end|>", "<|tool_calls_section_end|>"),
                _named(rf"(?:functions\.)?{_NAME}(?::\d{{1,9}})?\s*<\|tool_call_argument_begin\|>"),
            ),
        ),
        Written(
            ("<|tool_call_begin|>functions.%(name)s:", "/[0-9]{1,4}/", "<|tool_call_argument_begin|>"),
            ("<|tool_call_end|>",),
            begin="<|tool_calls_section_begin|>",
            end="<|tool_calls_section_end|>",
        ),
    ),
    "gemma4": Notation(
        (("<|tool_call>call:",),),
        (CallMark("<|tool_call>", ("<tool_call|>",), _named(rf"call:{_NAME}", GemmaArguments)),),
        Written(("<|tool_call>call:%(name)s",), ("<tool_call|>",), gemma=True),
    ),
    "minimax-m2": Notation(
        (("<minimax:tool_call>", '<invoke name="'),),
        (
            CallMark("<minimax:tool_call>"),
            CallMark('<invoke name="', ("</minimax:tool_call>",), _tagged(MINIMAX)),
        ),
        Written(
            ('<invoke name="%(name)s">\n',),
            ("</invoke>",),
            _NEW_LINE,
            "<minimax:tool_call>\n",
            "\n</minimax:tool_call>",
            parameters=Parameters(('<parameter name="%(name)s">',), "", "</parameter>", ("\n",)),
        ),
    ),
    "minicpm5": Notation(
        (('<function name="', '<param name="'),),
        (CallMark('<function name="', (), _tagged(MINICPM)),),
        Written(
            ('<function name="%(name)s">',),
            ("</function>",),
            parameters=Parameters(('<param name="%(name)s">',), "", "</param>", ("",)),
        ),
    ),
    "lfm2": Notation(
        (), (CallMark("<|tool_call_start|>", ("<|tool_call_end|>",), lambda _: PythonCalls(), objects="{"),)
    ),
    "cohere": Notation(
        (("<|START_ACTION|>", '"tool_name": '),),
        (CallMark("<|START_ACTION|>", ("<|END_ACTION|>",)),),
        Written(
            ('{"tool_call_id": "', "/[0-9]{1,4}/", '", "tool_name": %(json)s, "parameters": '),
            ("}",),
            literal(",\n    "),
            "<|START_ACTION|>[\n    ",
            "\n]<|END_ACTION|>",
        ),
    ),
    "gigachat": Notation(
        (("<|function_call|>",),),
        (CallMark("<|function_call|>"),),
        Written(('<|function_call|>{"name": %(json)s, "arguments": ',), ("}",)),
    ),
    "llama3": Notation(
        (("<|python_tag|>",), ('{"name": ', '"parameters": ')),
        (CallMark("<|python_tag|>"),),
        Written(('{"name": %(json)s, "parameters": ',), ("}",), literal("; ")),
    ),
    "json": Notation((), (), Written(('{"name": %(json)s, "arguments": ',), ("}",), _NEW_LINE)),
}
"""All notations but that of harmony, whose calls have no fixed head. Of those that a template shows the first counts,
and "json" stands for any that is not known."""

CALL_MARKS: Final[Mapping[str, CallMark]] = {
    mark.opens: mark for notation in NOTATIONS.values() for mark in notation.marks
}
"""The marks that come before calls in any notation."""

_TEXTS: Final = ("<function=", "```", '<invoke name="', '<function name="', '<｜DSML｜invoke name="')
"""Marks that are not control tokens in any model."""

CONTROL_MARKS: Final = (
    *dict.fromkeys(
        mark for marks in CALL_MARKS.values() for mark in (marks.opens, *marks.closes) if mark not in _TEXTS
    ),
    "[CALL_ID]",
    "[ARGS]",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<｜tool▁sep｜>",
    "<|tool_call_argument_begin|>",
    "｜DSML｜",
    QUOTE,
)
"""The control tokens that a parser of these notations needs to see."""
