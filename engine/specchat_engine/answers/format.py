"""How a model writes reasoning and calls, as far as its chat template shows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from specchat_engine.answers import harmony
from specchat_engine.answers.notations import CONTROL_MARKS, NOTATIONS
from specchat_engine.answers.thoughts import IN_TEMPLATES, USUAL_MARKS


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """The notation of calls, "harmony" or one of `NOTATIONS`, the tags around reasoning, and whether there may be any.

    The tags are looked for in every answer, also of a model that does not think by its template.
    """

    calls: str = "hermes"
    thinking: tuple[str, str] = USUAL_MARKS
    thinks: bool = False

    @classmethod
    def of(cls, template: str) -> AnswerFormat:
        """The format of the models that a chat template is for.

        A template that knows of no tools gets them as text, which asks for calls as Hermes models write them.
        """
        calls = _call_format(template)
        thinking = next((tags for tags in IN_TEMPLATES if tags[0] in template), None)
        return cls(calls, thinking or USUAL_MARKS, thinks=thinking is not None or calls == "harmony")

    @property
    def marks(self) -> tuple[str, ...]:
        """The control tokens that the parser looks for, to be given as `Prompt.shown`."""
        return self.reasoning_marks if self.calls == "harmony" else (*self.reasoning_marks, *CONTROL_MARKS)

    @property
    def reasoning_marks(self) -> tuple[str, ...]:
        """The marks that separate reasoning from the answer: the tags, or for harmony all that headers consist of."""
        begin, end = self.thinking
        return harmony.MARKS if self.calls == "harmony" else (begin.removesuffix("thought"), end)


def _call_format(template: str) -> str:
    if "<|channel|>" in template:
        return "harmony"
    if not re.search(r"\btools\b", template):
        return "hermes"
    for name, notation in NOTATIONS.items():
        if any(all(text in template for text in texts) for texts in notation.shown_by):
            return name
    return "json"
