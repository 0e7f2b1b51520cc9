"""The tools that a client offers to the model, and which of them it may or must call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from specchat.engine_process.protocol import NO_TOOLS, Offer
from specchat.serve.api_errors import bad
from specchat.serve.requests.base import Wire

Mode = Literal["none", "auto", "required", "any"]
"""Mistral's clients write "any" for "required"."""


class FunctionTool(Wire):
    """A function that the model may call."""

    name: str = Field(min_length=1)
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class RequestedTool(Wire):
    """A tool of OpenAI's chat API, whose function may also stand beside the type, as in the newer API.

    Those that are not functions are skipped.
    """

    type: str = "function"
    function: FunctionTool | None = None
    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None

    @property
    def declared(self) -> FunctionTool | None:
        """The function; None for another tool."""
        if self.type != "function":
            return None
        if self.function or not self.name:
            return self.function
        return FunctionTool(**self.model_dump(include=set(FunctionTool.model_fields)))


class NamedFunction(Wire):
    """The name of a function."""

    name: str


class AllowedTools(Wire):
    """Some of the tools, and whether one of them has to be called."""

    mode: Mode = "auto"
    tools: list[NamedChoice]


class NamedChoice(Wire):
    """The choice of one function in OpenAI's chat API, or of those that are allowed.

    The name may also stand beside the type, as in the newer API.
    """

    type: str = "function"
    function: NamedFunction | None = None
    name: str | None = None
    allowed_tools: AllowedTools | None = None

    @property
    def chosen(self) -> str | None:
        """The name of the function."""
        return self.function.name if self.function else self.name


def function_tool(tool: FunctionTool) -> dict[str, Any]:
    """The tool as templates take it."""
    described = {"description": tool.description} if tool.description else {}
    parameters = tool.parameters or {"type": "object", "properties": {}}
    strict = {"strict": True} if tool.strict else {}
    return {"type": "function", "function": {"name": tool.name, **described, "parameters": parameters, **strict}}


def allowed_tools(functions: Sequence[FunctionTool], names: Sequence[str | None], param: str) -> list[FunctionTool]:
    """The functions with these names. Raises ApiError for a name that none has."""
    known = {function.name for function in functions}
    if unknown := next((name for name in names if name and name not in known), None):
        raise bad(f"{param} names {unknown[:80]!r}, which is none of the tools", param)
    return [function for function in functions if function.name in names]


def chosen_tools(
    functions: Sequence[FunctionTool], choice: Mode | str | None, *, named: str | None, parallel: bool, param: str
) -> Offer:
    """The tools under a choice: a mode, or the one function that is `named`, which then has to be called.

    Raises ApiError for a choice that no tool fits.
    """
    tools = tuple(map(function_tool, functions))
    if named is not None:
        tools = tuple(tool for tool in tools if tool["function"]["name"] == named)
        if not tools:
            raise bad(f"{param} names {named[:80]!r}, which is none of the tools", param)
        return Offer(tools, required=True, parallel=False)
    if choice == "none":
        return NO_TOOLS
    if choice in ("required", "any"):
        if not tools:
            raise bad(f"{param} is {choice}, but there are no tools", param)
        return Offer(tools, required=True, parallel=parallel)
    return Offer(tools, parallel=parallel)
