"""The notations of calls, one a line: what comes before a call, what may come after it, and how it is written.

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
marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specchat_engine.answers.gemma import QUOTE, GemmaArguments
from specchat_engine.answers.json_calls import JsonCalls
from specchat_engine.answers.named_calls import ArgumentsReader, JsonArguments, NamedCall
from specchat_engine.answers.parts import CallReader
from specchat_engine.answers.python_calls import PythonCalls
from specchat_engine.answers.tagged_calls import DSML, GLM, MINICPM, MINIMAX, QWEN, TaggedCall, Tags

Schemas = Mapping[str, Any]
"""The schemas of the functions' parameters, by the functions' names."""


@dataclass(frozen=True, slots=True)
class Notation:
    """A way to write calls. Each of the marks that may come after a call is optional, and they come in this order.

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


def _named(head: str, arguments: Callable[[], ArgumentsReader] = JsonArguments) -> Callable[[Schemas], CallReader]:
    pattern = re.compile(rf"\s*{head}\s*")
    return lambda _: NamedCall(pattern, arguments())


def _tagged(tags: Tags) -> Callable[[Schemas], CallReader]:
    return lambda schemas: TaggedCall(tags, schemas)


_NAME: Final = r"([\w.:/-]{1,64}?)"

_ALL: Final = (
    Notation("<tool_call>", ("</tool_call>",), _tagged(GLM)),
    Notation("<tool_calls>", ("</tool_calls>",)),
    Notation("<TOOLCALL>", ("</TOOLCALL>",)),
    Notation("<|tool_call|>"),
    Notation("<|python_tag|>"),
    Notation("<function=", ("</tool_call>",), _tagged(QWEN)),
    Notation("[TOOL_CALLS]", (), _named(rf"{_NAME}(?:\[CALL_ID\][\w-]{{1,40}})?\[ARGS\]")),
    Notation("<｜tool▁calls▁begin｜>"),
    Notation(
        "<｜tool▁call▁begin｜>",
        ("```", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"),
        _named(rf"(?:function<｜tool▁sep｜>)?{_NAME}\s*(?:<｜tool▁sep｜>|```json)"),
    ),
    Notation("<|tool_calls_section_begin|>"),
    Notation(
        "<|tool_call_begin|>",
        ("<|tool_call_end|>", "<|tool_calls_section_end|>"),
        _named(rf"(?:functions\.)?{_NAME}(?::\d{{1,9}})?\s*<\|tool_call_argument_begin\|>"),
    ),
    Notation("<|tool_call>", ("<tool_call|>",), _named(rf"call:{_NAME}", GemmaArguments)),
    Notation("<minimax:tool_call>"),
    Notation('<invoke name="', ("</minimax:tool_call>",), _tagged(MINIMAX)),
    Notation("<｜DSML｜function_calls>"),
    Notation("<｜DSML｜tool_calls>"),
    Notation('<｜DSML｜invoke name="', ("</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"), _tagged(DSML)),
    Notation('<function name="', (), _tagged(MINICPM)),
    Notation("<|tool_call_start|>", ("<|tool_call_end|>",), lambda _: PythonCalls(), objects="{"),
    Notation("<|START_ACTION|>", ("<|END_ACTION|>",)),
    Notation("<|function_call|>"),
)

NOTATIONS: Final[Mapping[str, Notation]] = {notation.opens: notation for notation in _ALL}
"""The notations by the mark that comes before a call."""

_TEXTS: Final = ("<function=", "```", '<invoke name="', '<function name="', '<｜DSML｜invoke name="')
"""Marks that are no control token in any model."""

MARKS: Final = (
    *dict.fromkeys(mark for one in _ALL for mark in (one.opens, *one.closes) if mark not in _TEXTS),
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
