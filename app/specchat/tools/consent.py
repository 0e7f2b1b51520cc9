"""Whether a call may be made: the user is asked before each one, or allows a tool for the rest of the chat."""

from __future__ import annotations

from enum import StrEnum

from specchat.tools.tool import Tool


class ConsentAnswer(StrEnum):
    """What the user says about a call."""

    ONCE = "once"
    ALWAYS = "always"
    NO = "no"


class Consent:
    """The tools that the user allowed in one chat. Nothing is allowed beyond the chat."""

    def __init__(self) -> None:
        self._allowed: dict[str, Tool] = {}

    def needed(self, tool: Tool) -> bool:
        """Whether the user is to be asked before a call, also because the tool is not the same as it was."""
        return self._allowed.get(tool.called) != tool

    def say(self, tool: Tool, verdict: ConsentAnswer) -> bool:
        """Notes what the user said. Returns whether the call may be made."""
        if verdict is ConsentAnswer.ALWAYS:
            self._allowed[tool.called] = tool
        return verdict is not ConsentAnswer.NO
