"""Sends a call through the chat templates of real models and reads it back, and conversations as clients build them.

    python -m support.template_check FOLDER

FOLDER has files `*.jinja`, as `models/templates` in llama.cpp's source. A template writes an earlier call as its model
would have written it. That text is parsed, and the call has to come back. No text of a conversation may be left out.
The exit code is 1 if a template fails, or a call or a text is lost, except for those below.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from specchat_engine import Message, Prompt, TemplateError, ToolCall
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.parser import parse_answer
from specchat_engine.prompt.template import ChatTemplate
from support.conversation_shapes import lost_shapes

NOT_READ = {
    "Apertus-8B-Instruct": "<|tools_prefix|>[{name: {…}}]",
    "CohereForAI-c4ai-command-r-plus-tool_use": "Action: and a block of JSON",
    "GigaChat3-10B-A1.8B": "function call<|role_sep|>",
    "Kimi-K3": '<|open|>call tool="name"',
    "MiniMax-M3": "]<]minimax[>[",
    "fireworks-ai-llama-3-firefunction-v2": "takes the tools in a variable of its own",
    "llama-cpp-deepseek-r1": "writes JSON of a generator, which transformers refuses too",
    "meetkai-functionary-medium-v3.1": "<function=name>{…}</function>",
    "meetkai-functionary-medium-v3.2": ">>>name, then {…}",
    "muse-glimmer": "<atem:invoke>",
    "tencent-Hy3": "<tool_call:opensource>",
    "upstage-Solar-Open-100B": "<|tool_call:begin|>",
}
"""Templates whose calls are not read, with what they write."""

LOSES = {
    "CohereForAI-c4ai-command-r-plus-tool_use": "wants a schema's description of each parameter",
    "Mistral-Small-3.2-24B-Instruct-2506": "leaves out the text beside a call",
    "fireworks-ai-llama-3-firefunction-v2": "fails with every conversation",
    "llama-cpp-deepseek-r1": "fails with every call",
    "mistralai-Mistral-Nemo-Instruct-2407": "leaves out the text beside a call",
}
"""Templates that leave out texts or fail, with the reason."""

_QUESTION = "Will it rain in Rome?"
_RESULT = "no rain at all"
_ENDS = "<|call|>"
"""What ends a call of gpt-oss. After it the tool's name follows in the same notation."""

_CALL = ToolCall("weather", '{"city": "Rome", "days": 2}', "call00001")
_PROPERTIES = {
    "city": {"type": "string", "description": "The name of the city."},
    "days": {"type": "integer", "description": "How many days ahead."},
}
_PARAMETERS = {"type": "object", "properties": _PROPERTIES, "required": ["city"]}
_TOOLS = (
    {
        "type": "function",
        "function": {"name": "weather", "description": "Returns the weather.", "parameters": _PARAMETERS},
    },
)


@dataclass(frozen=True, slots=True)
class Tried:
    """What a template did: the notation of its calls, its switch for thinking, and what is wrong, if anything is."""

    notation: str
    switch: str
    wrong: str = ""
    lost: tuple[str, ...] = ()


def tried(source: str) -> Tried:
    """Shows a tool to the model of this template, and reads a call that the template has written."""
    answer_format = AnswerFormat.of(source)
    switch = ""
    try:
        template = ChatTemplate(source, bos="<s>", eos="</s>")
        switch = " ".join(filter(None, (template.thinking.toggle, template.thinking.effort)))
        question = Message("user", _QUESTION)
        template.render(Prompt((Message("system", "Be kind."), question)))
        asked = template.render(Prompt((question,), _TOOLS))
        result = Message("tool", _RESULT, tool_call_id=_CALL.id, name=_CALL.name)
        after = template.render(Prompt((question, Message("assistant", "", (_CALL,)), result), _TOOLS))
    except TemplateError as error:
        return Tried(answer_format.calls, switch, str(error))
    if "weather" not in asked:
        return Tried(answer_format.calls, switch, "the tool is not in the prompt")
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(asked, after, strict=False)))
    reply = after.rpartition(_QUESTION)[2]
    said = [text.partition(_RESULT)[0].partition(_ENDS)[0] for text in (after[common:], reply)]
    calls = [parse_answer(text, answer_format, _TOOLS).tool_calls for text in said]
    found = any([(call.name, call.arguments) for call in one] == [(_CALL.name, _CALL.arguments)] for one in calls)
    wrong = "" if found else f"the call is not read: {reply.strip()[:60]!r}"
    return Tried(answer_format.calls, switch, wrong, tuple(lost_shapes(template)))


def main() -> int:
    """Tries all templates of the folder and prints a table."""
    parser = argparse.ArgumentParser(prog="template_check", description=__doc__)
    parser.add_argument("folder", type=Path)
    paths = sorted(parser.parse_args().folder.glob("*.jinja"))
    if not paths:
        parser.error("no file *.jinja is in that folder")
    table = Table("template", "calls", "thinking", "a call comes back", "no text is lost")
    failed = 0
    for path in paths:
        one, reason = tried(path.read_text(encoding="utf-8")), NOT_READ.get(path.stem, "")
        loses = LOSES.get(path.stem, "")
        failed += bool(one.wrong) != bool(reason)
        failed += bool(one.lost) > bool(loses)
        comes_back = f"no: {reason}" if reason else one.wrong or "yes"
        keeps = f"no: {loses}" if loses else " ".join(one.lost) or "yes"
        table.add_row(path.stem, one.notation, one.switch, comes_back, keeps)
    console = Console(width=160)
    console.print(table, f"{len(paths)} templates, {failed} unexpected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
