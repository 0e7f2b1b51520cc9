"""Requests of OpenAI's newer API: POST /v1/responses, as far as agents need it. Nothing is stored between requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from specchat.engine_process.protocol import ChatMessage, Generate, Offer
from specchat.serve.api_errors import bad
from specchat.serve.requests.base import MaxTokens, ModelOffer, Sampling, Wire
from specchat.serve.requests.content import ContentPart, check_last, check_messages, content_of, joined
from specchat.serve.requests.formats import ResponseFormat, grammar_of
from specchat.serve.requests.tools import Mode, RequestedTool, allowed_tools, chosen_tools
from specchat_engine.prompt.messages import ToolCall, arguments_text


class Item(Wire):
    """A message, a thought, a call of a function, or its output."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | list[ContentPart] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Any = None
    output: str | list[ContentPart] | None = None
    summary: list[ContentPart] | None = None


class ResponsesChoice(Wire):
    """The choice of one function, or of those that are allowed."""

    type: str
    name: str | None = None
    mode: Mode | None = None
    tools: list[ResponsesChoice] | None = None


class TextFormat(ResponseFormat):
    """The format of the answer's text; a schema stands beside its type."""

    def grammar(self, param: str) -> str:
        """The grammar that holds an answer to the format. Raises ApiError for a schema."""
        if self.type != "json_schema":
            return super().grammar(param)
        if self.schema_ is None:
            raise bad(f"{param}.schema is missing", f"{param}.schema")
        return grammar_of(self.schema_, f"{param}.schema")


class TextOptions(Wire):
    """How the answer's text is written."""

    format: TextFormat | None = None


class Reasoning(Wire):
    """How much the model is to think."""

    effort: str | None = None


class ResponsesRequest(Sampling):
    """A conversation to be answered, or a single text."""

    input: str | list[Item]
    instructions: str | None = None
    max_output_tokens: MaxTokens = None
    tools: list[RequestedTool] | None = None
    tool_choice: Mode | ResponsesChoice | None = None
    parallel_tool_calls: bool | None = None
    text: TextOptions | None = None
    reasoning: Reasoning | None = None
    previous_response_id: str | None = None
    metadata: dict[str, Any] | None = None

    def requests(self, offer: ModelOffer) -> tuple[Generate, ...]:
        """The one request to the engine. Raises ApiError for what cannot be served."""
        if self.previous_response_id:
            message = "previous_response_id is not supported, nothing is stored: send the conversation in input"
            raise bad(message, "previous_response_id")
        tools = self._tools()
        text = self.text.format if self.text else None
        grammar = text.grammar("text.format") if text else ""
        messages = self.messages()
        check_messages(messages, "input")
        effort = self.reasoning.effort if self.reasoning else None
        request = Generate(
            tuple(messages),
            seed=self.first_seed,
            settings=self.settings(offer, max_tokens=self.max_output_tokens, stop=(), grammar=grammar),
            tools=tools,
            variables=self.variables(offer, effort),
        )
        check_last(request, "input")
        return (request,)

    def echoed(self) -> dict[str, Any]:
        """What the response repeats of the request."""
        return {
            "instructions": self.instructions,
            "max_output_tokens": self.max_output_tokens,
            "metadata": self.metadata or {},
            "parallel_tool_calls": self.parallel_tool_calls is not False,
            "previous_response_id": None,
            "store": False,
            **self.model_dump(include={"temperature", "top_p"}),
            "tool_choice": self.tool_choice if isinstance(self.tool_choice, str) else "auto",
            "tools": [tool.model_dump(exclude_none=True) for tool in self.tools or ()],
        }

    def messages(self) -> list[ChatMessage]:
        """The conversation for the engine. Raises ApiError for an item that is not read."""
        messages = [ChatMessage("system", self.instructions)] if self.instructions else []
        if isinstance(self.input, str):
            return [*messages, ChatMessage("user", self.input)]
        for number, item in enumerate(self.input):
            _add(messages, item, f"input[{number}]")
        return [message for message in messages if not _only_thinks(message)]

    def _tools(self) -> Offer:
        offered = [function for tool in self.tools or () if (function := tool.declared)]
        choice, named = self.tool_choice, None
        if isinstance(choice, ResponsesChoice) and choice.type == "allowed_tools":
            offered = allowed_tools(offered, [tool.name for tool in choice.tools or ()], "tool_choice.tools")
            choice = choice.mode
        elif isinstance(choice, ResponsesChoice):
            named, choice = (choice.name, None) if choice.type == "function" else (None, None)
        parallel = self.parallel_tool_calls is not False
        return chosen_tools(offered, choice, named=named, parallel=parallel, param="tool_choice")


def _add(messages: list[ChatMessage], item: Item, param: str) -> None:
    """Adds an item to a conversation. Calls join the message of the model before them, and so does a thought."""
    if item.type == "message":
        if item.role is None:
            raise bad(f"{param} has no role", f"{param}.role")
        content = content_of(item.content or "", f"{param}.content")
        role = "system" if item.role == "developer" else item.role
        thought = _thought_before(messages) if role == "assistant" else ""
        messages.append(ChatMessage(role, content.text, images=content.images, reasoning=thought or content.thought))
    elif item.type == "reasoning":
        thought = joined(item.content or "", f"{param}.content") or joined(item.summary or "", f"{param}.summary")
        messages.append(ChatMessage("assistant", "", reasoning=thought))
    elif item.type == "function_call":
        if not (item.name and item.call_id):
            raise bad(f"{param} needs name and call_id", param)
        if not messages or messages[-1].role != "assistant":
            messages.append(ChatMessage("assistant", "", reasoning=""))
        call = ToolCall(item.name, arguments_text(item.arguments), item.call_id)
        messages[-1] = replace(messages[-1], tool_calls=(*messages[-1].tool_calls, call))
    elif item.type == "function_call_output":
        if not item.call_id:
            raise bad(f"{param} needs call_id", f"{param}.call_id")
        content = content_of(item.output or "", f"{param}.output")
        messages.append(ChatMessage("tool", content.text, tool_call_id=item.call_id, images=content.images))
    elif item.type == "item_reference":
        raise bad(f"{param} refers to an item, and nothing is stored: send the item itself", param)
    else:
        raise bad(f"{param} is of type {item.type[:80]!r}: send messages, function calls and their outputs", param)


def _thought_before(messages: list[ChatMessage]) -> str:
    """Takes the thought at the end of a conversation, which belongs to the answer that follows."""
    return messages.pop().reasoning or "" if messages and _only_thinks(messages[-1]) else ""


def _only_thinks(message: ChatMessage) -> bool:
    return message.role == "assistant" and not (message.content or message.images or message.tool_calls)
