"""What `verify` asks: prompts by kind of text, and answers with a thought or a call of a tool."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine, SettingError, Settings
from specchat_engine.settings import AUTO

THOUGHTS: Final = "thoughts"
CALLS: Final = "calls"

_THINK_TOKENS: Final = 16
"""The limit of the thoughts that have one."""

_PUZZLES: Final = (
    "A farmer has 17 sheep, and all but 9 run away. How many sheep are left?",
    "Which is larger, 9.11 or 9.9?",
    "Is 91 a prime number?",
)
_ERRANDS: Final = (
    "What will the weather be in Oslo tomorrow?",
    "Add milk and two loaves of bread to my shopping list.",
    "Set a timer for twelve minutes.",
)
_ANSWER: Final = {
    "type": "object",
    "properties": {"answer": {"type": "string", "maxLength": 20}, "sure": {"type": "boolean"}},
    "required": ["answer", "sure"],
}
_TOOLS: Final[Sequence[Mapping[str, Any]]] = (
    {
        "name": "get_weather",
        "description": "The weather forecast for a place.",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "maxLength": 30},
                "day": {"enum": ["today", "tomorrow"]},
                "unit": {"enum": ["celsius", "fahrenheit"]},
            },
            "required": ["place", "day"],
        },
    },
    {
        "name": "add_items",
        "description": "Adds items to a list.",
        "parameters": {
            "type": "object",
            "properties": {
                "list": {"type": "string", "maxLength": 20},
                "items": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 3},
            },
            "required": ["list", "items"],
        },
    },
    {
        "name": "set_timer",
        "description": "Sets a timer.",
        "parameters": {"type": "object", "properties": {"minutes": {"type": "integer"}}, "required": ["minutes"]},
    },
)


@dataclass(frozen=True, slots=True)
class Ask:
    """One prompt.

    A model that `thinks` does so for at most `think_tokens`, if that is not 0. A `grammar` holds for the answer, after
    the thought. If there are `tools`, one of them has to be called.
    """

    prompt: str
    thinks: bool = False
    think_tokens: int = 0
    grammar: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()

    def settings(self, usual: Settings) -> Settings:
        """The settings with which it is asked, from those that hold where it says nothing."""
        sampling = replace(usual.sampling, grammar=self.grammar) if self.grammar else usual.sampling
        thinking = "on" if self.thinks and usual.thinking in (AUTO, "off") else usual.thinking
        limit = usual.think_tokens or self.think_tokens
        return replace(usual, sampling=sampling, thinking=thinking, think_tokens=limit)


def check_kinds(chosen: Sequence[str]) -> None:
    """Raises SettingError for a kind that there is not."""
    known = (*benchmark_prompts(short=True), THOUGHTS, CALLS)
    if unknown := next((kind for kind in chosen if kind not in known), None):
        raise SettingError(f"there is no kind {unknown!r}: use {', '.join(known)}")


def asks_by_kind(chosen: Sequence[str], engine: Engine, prompts: int) -> dict[str, list[Ask]]:
    """Returns up to `prompts` prompts of each of the `chosen` kinds; of all that the chat template knows if none are.

    Every kind of benchmark is there, thoughts if the template has a switch for them, and calls if it mentions tools. A
    call can be asked of any model. Raises SettingError for thoughts of a model without a switch.
    """
    known = {kind: [Ask(text) for text in texts[:prompts]] for kind, texts in benchmark_prompts(short=True).items()}
    grammar = json.dumps(_ANSWER)
    thoughts: tuple[dict[str, Any], ...] = ({}, {"grammar": grammar}, {"think_tokens": _THINK_TOKENS})
    known[THOUGHTS] = [Ask(text, thinks=True, **how) for text in _PUZZLES[:prompts] for how in thoughts]
    known[CALLS] = [Ask(text, tools=tuple(_TOOLS)) for text in _ERRANDS[:prompts]]
    if not engine.thinking.exists:
        if THOUGHTS in chosen:
            raise SettingError("this model's chat template has no switch for thinking: omit --kind thoughts")
        del known[THOUGHTS]
    if not (chosen or engine.knows_tools):
        del known[CALLS]
    return {kind: asks for kind, asks in known.items() if not chosen or kind in chosen}
