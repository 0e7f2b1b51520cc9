"""How a model writes reasoning and calls, as far as its chat template shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from specchat_engine.answers import harmony, notations

CallFormat = Literal[
    "hermes",
    "qwen3-coder",
    "glm",
    "llama3",
    "mistral",
    "mistral-args",
    "mistral-ids",
    "deepseek-r1",
    "deepseek-v3.1",
    "kimi-k2",
    "gemma4",
    "minimax-m2",
    "minicpm5",
    "cohere",
    "gigachat",
    "harmony",
    "json",
]
"""A notation for calls; `notations` and `harmony` have examples. "json" stands for any that is not known."""

_USUAL: Final = ("<think>", "</think>")
_THOUGHT: Final = "thought"
_TAGS: Final = (
    _USUAL,
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    (f"<|channel>{_THOUGHT}", "<channel|>"),
)

_SHOWN_BY: Final[Sequence[tuple[CallFormat, Sequence[str]]]] = (
    ("mistral-ids", ("[TOOL_CALLS]", "[CALL_ID]")),
    ("mistral-args", ("[TOOL_CALLS]", "[ARGS]")),
    ("mistral", ("[TOOL_CALLS]",)),
    ("qwen3-coder", ("<tool_call>", "<function=")),
    ("glm", ("<tool_call>", "<arg_key>")),
    ("hermes", ("<tool_call>",)),
    ("deepseek-r1", ("<｜tool▁call▁begin｜>", "```json")),
    ("deepseek-v3.1", ("<｜tool▁call▁begin｜>",)),
    ("kimi-k2", ("<|tool_call_begin|>",)),
    ("gemma4", ("<|tool_call>call:",)),
    ("minimax-m2", ("<minimax:tool_call>", '<invoke name="')),
    ("minicpm5", ('<function name="', '<param name="')),
    ("cohere", ("<|START_ACTION|>", '"tool_name": ')),
    ("gigachat", ("<|function_call|>",)),
    ("llama3", ("<|python_tag|>",)),
    ("llama3", ('{"name": ', '"parameters": ')),
)
"""What the template of a model with a notation contains; the first that fits counts."""


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """The notation of calls, and the tags around reasoning."""

    calls: CallFormat = "hermes"
    thinking: tuple[str, str] = _USUAL

    @classmethod
    def of(cls, template: str) -> AnswerFormat:
        """The format of the models that a chat template is for.

        A template that knows of no tools gets them as text, which asks for calls as Hermes models write them.
        """
        thinking = next((tags for tags in _TAGS if tags[0] in template), _USUAL)
        return cls(_call_format(template), thinking)

    @property
    def marks(self) -> tuple[str, ...]:
        """The control tokens that the parser looks for, to be given as `Prompt.shown`."""
        return self.reasoning_marks if self.calls == "harmony" else (*self.reasoning_marks, *notations.MARKS)

    @property
    def reasoning_marks(self) -> tuple[str, ...]:
        """Those of them that tell reasoning from the answer: the tags, or for harmony all that headers consist of."""
        begin, end = self.thinking
        return harmony.MARKS if self.calls == "harmony" else (begin.removesuffix(_THOUGHT), end)


def _call_format(template: str) -> CallFormat:
    if "<|channel|>" in template:
        return "harmony"
    if not re.search(r"\btools\b", template):
        return "hermes"
    return next((calls for calls, marks in _SHOWN_BY if all(mark in template for mark in marks)), "json")
