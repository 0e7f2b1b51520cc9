"""How a model writes reasoning and calls, as far as its chat template shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from specchat_engine.answers import harmony, tool_calls

CallFormat = Literal["hermes", "qwen3-coder", "llama3", "mistral", "mistral-args", "mistral-ids", "harmony", "json"]
"""A notation for calls; `tool_calls` and `harmony` have examples. "json" stands for any that is not known."""

_USUAL: Final = ("<think>", "</think>")
_TAGS: Final = (
    _USUAL,
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
)


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
        return harmony.MARKS if self.calls == "harmony" else (*self.thinking, *tool_calls.MARKS)


def _call_format(template: str) -> CallFormat:
    if "<|channel|>" in template:
        return "harmony"
    if "[TOOL_CALLS]" in template:
        return "mistral-ids" if "[CALL_ID]" in template else "mistral-args" if "[ARGS]" in template else "mistral"
    if "<tool_call>" in template or not re.search(r"\btools\b", template):
        return "qwen3-coder" if "<function=" in template else "hermes"
    if "<|python_tag|>" in template or ('{"name": ' in template and '"parameters": ' in template):
        return "llama3"
    return "json"
