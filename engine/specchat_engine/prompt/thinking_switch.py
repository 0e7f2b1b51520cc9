"""How much a model thinks: which variables of its chat template say so, found in the template itself.

A switch is `enable_thinking` (Qwen 3, GLM, Gemma 4) or `thinking` (DeepSeek, Kimi, Granite), which is true or false, or
`reasoning_effort` (gpt-oss, Mistral) or `thinking_effort` (Kimi), which is a word. Some templates have one of each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from specchat_engine.allowed import AUTO

_TOGGLES: Final = ("enable_thinking", "thinking")
_EFFORTS: Final = ("reasoning_effort", "thinking_effort")

SWITCHES: Final = frozenset((*_TOGGLES, *_EFFORTS))
"""The names of all variables that say how much to think."""

_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "low": ("low", "minimal", "medium", "high", "xhigh", "max"),
    "medium": ("medium", "high", "low", "minimal", "xhigh", "max"),
    "high": ("high", "xhigh", "max", "medium", "low", "minimal"),
}
"""The words for a level in a template that has words for effort, the best first."""

_ALL_WORDS: Final = frozenset(_WORDS["low"])
_NONE: Final = "none"

Probe = Callable[[Mapping[str, Any]], str | None]
"""The prompt that a template makes of a short conversation with these variables; None if it fails."""


@dataclass(frozen=True, slots=True)
class ThinkingSwitch:
    """The switch of a chat template.

    `toggle` is the variable that is true or false, and `effort` the one that is a word: `words` has those for the
    levels. Both names are empty if the template has no switch.
    """

    toggle: str = ""
    effort: str = ""
    words: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, variables: Collection[str], constants: Collection[str], probe: Probe) -> ThinkingSwitch:
        """The switch of a template with these variables, in which these texts occur."""
        toggle = next((name for name in _TOGGLES if name in variables), "")
        effort = next((name for name in _EFFORTS if name in variables), "")
        return cls(toggle, effort, _words(effort, constants, probe) if effort else {})

    @property
    def exists(self) -> bool:
        """Whether the template has a switch."""
        return bool(self.toggle or self.words)

    def variables(self, level: str) -> dict[str, Any]:
        """What the template gets for a level of `Settings.thinking`. Nothing for "auto"."""
        variables: dict[str, Any] = {}
        if self.toggle and level != AUTO:
            variables[self.toggle] = level != "off"
        if level in self.words and not (self.toggle and level == "off"):
            variables[self.effort] = self.words[level]
        elif level == "off" and not self.toggle and self.words:
            variables[self.effort] = self.words["low"]
        return variables

    def is_on(self, variables: Mapping[str, Any]) -> bool:
        """Whether a model with this switch may think under the variables of a template."""
        off = variables.get(self.toggle) is False or variables.get(self.effort) == _NONE
        return self.exists and not off

    def notice(self, level: str) -> str:
        """Why a level does not do what it says; empty if it does."""
        if level == AUTO:
            return ""
        if not self.exists:
            return f"thinking is {level}, which has no effect: this model's chat template has no switch for it"
        if level == "off" and not self.toggle and "off" not in self.words:
            return f"thinking cannot be turned off for this model: its {self.effort} is {self.words['low']} instead"
        return ""


def _words(effort: str, constants: Collection[str], probe: Probe) -> dict[str, str]:
    """The words that a template takes for the levels. "off" and "on" are among them if one word turns thinking off.

    A template that names two words or more names all that it knows.
    """
    named = _ALL_WORDS.intersection(constants)
    known = named if len(named) > 1 else _ALL_WORDS
    taken = {word: made for word in known if (made := probe({effort: word})) is not None}
    if not taken:
        return {}
    by_level = {level: next(word for word in words if word in taken) for level, words in _WORDS.items()}
    without = probe({effort: _NONE})
    if without is not None and (_NONE in constants or not _echoes(without, taken)):
        by_level |= {"off": _NONE, "on": by_level["high"]}
    return by_level


def _echoes(without: str, taken: Mapping[str, str]) -> bool:
    """Whether a template only repeats the word in its prompt, so that "none" is not more than a word to it."""
    return any(without.replace(_NONE, word) == made for word, made in taken.items())
