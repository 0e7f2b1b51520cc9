"""A grammar for what comes after the reasoning: the model thinks freely, then its answer follows the grammar."""

from __future__ import annotations

import re
from typing import Final

from specchat_engine.answers.format import AnswerFormat
from specchat_engine.grammar.json_schema import literal
from specchat_engine.grammar.until import until

_SYMBOLS: Final = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|#[^\r\n]*|[A-Za-z0-9-]+', re.DOTALL)
_ANSWER: Final = "specchat-answer"
_THOUGHT: Final = "specchat-thought"


def after_reasoning(grammar: str, answer_format: AnswerFormat, *, opened: bool) -> str:
    """The grammar, in GBNF, of answers whose text after the reasoning follows `grammar`.

    `opened` says that the prompt ends inside the reasoning; otherwise there may be none. In harmony the reasoning is a
    message of its own, and `grammar` is that of the final one.
    """
    if answer_format.calls == "harmony":
        closing = "<|end|>"
        thinks = f'"<|channel|>analysis<|message|>" {_THOUGHT} "<|start|>assistant"'
        root = f'({thinks})? "<|channel|>final<|message|>" {_ANSWER}'
    else:
        opening, closing = answer_format.thinking
        thinks = rf"{_THOUGHT} [ \n]{{0,4}}"
        root = f"{thinks} {_ANSWER}" if opened else f"({literal(opening)} {thinks})? {_ANSWER}"
    renamed = _SYMBOLS.sub(lambda symbol: _ANSWER if symbol[0] == "root" else symbol[0], grammar)
    return "\n".join([f"root ::= {root}", *until(closing, _THOUGHT), renamed])
