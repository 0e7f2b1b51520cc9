"""Requests of Anthropic's API: POST /v1/messages and /v1/messages/count_tokens."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from specchat.engine_process.protocol import ChatMessage, Generate, Offer
from specchat.serve.api_errors import bad
from specchat.serve.requests.base import ModelOffer, Sampling, Wire, checked_stops
from specchat.serve.requests.content import (
    GivenImage,
    check_last,
    check_messages,
    joined_texts,
    no_text,
    unread_file,
    unread_part,
    without_attribution,
)
from specchat.serve.requests.formats import grammar_of
from specchat.serve.requests.tools import FunctionTool, chosen_tools
from specchat_engine.prompt.messages import ToolCall
from specchat_engine.settings import Settings

_OF_OTHERS = (
    "redacted_thinking",
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
    "container_upload",
)
"""Blocks that only the server that wrote them can read. They are skipped."""


class Source(Wire):
    """Where an image or a document is, or the document itself."""

    type: str
    data: str = ""
    content: str | list[ContentBlock] | None = None


class ContentBlock(Wire):
    """A part of a message: text, an image, a document, thoughts, a call of a tool, or its result.

    The source of a search's result is its address.
    """

    type: str
    text: str | None = None
    source: Source | str | None = None
    title: str | None = None
    context: str | None = None
    tool_name: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    tool_use_id: str | None = None
    content: str | list[ContentBlock] | None = None
    is_error: bool | None = None


class AnthropicMessage(Wire):
    """A message of the conversation."""

    role: Literal["user", "assistant", "system"]
    content: str | list[ContentBlock]


class AnthropicTool(Wire):
    """A tool; those that the API runs by itself have another type and are skipped."""

    type: str | None = None
    name: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class AnthropicChoice(Wire):
    """Which tools may or must be called."""

    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class ThinkingOption(Wire):
    """Whether the model is to think, and for at most how many tokens."""

    type: str
    budget_tokens: int | None = Field(default=None, ge=1, lt=2**31)


class OutputFormat(Wire):
    """The schema of an answer."""

    type: Literal["json_schema"]
    schema_: dict[str, Any] | bool = Field(alias="schema")


class OutputConfig(Wire):
    """How the answer is written, and how much the model is to think before."""

    effort: str | None = None
    format: OutputFormat | None = None


class CountRequest(Sampling):
    """A conversation whose tokens are to be counted."""

    messages: list[AnthropicMessage]
    system: str | list[ContentBlock] | None = None
    tools: list[AnthropicTool] | None = None
    tool_choice: AnthropicChoice | None = None
    thinking: ThinkingOption | None = None
    stop_sequences: list[str] | None = None
    output_config: OutputConfig | None = None

    def request(self, offer: ModelOffer, max_tokens: int) -> Generate:
        """The request to the engine. Raises ApiError for what cannot be served."""
        stop = checked_stops(self.stop_sequences or (), "stop_sequences")
        tools, grammar = self.chosen(), self._grammar()
        thinks = None if self.thinking is None else self.thinking.type != "disabled"
        effort = self.output_config.effort if self.output_config else None
        return Generate(
            tuple(self._conversation()),
            seed=self.first_seed,
            settings=self._limited(self.settings(offer, max_tokens=max_tokens, stop=stop, grammar=grammar)),
            tools=tools,
            variables=self.variables(offer, effort, thinks),
        )

    def _limited(self, settings: Settings) -> Settings:
        """The settings with the budget for thoughts, unless `think_tokens` is given, too."""
        budget = self.thinking.budget_tokens if self.thinking else None
        if budget and "think_tokens" not in self.model_fields_set:
            return replace(settings, think_tokens=budget)
        return settings

    def _conversation(self) -> list[ChatMessage]:
        """The conversation for the engine. Raises ApiError for a block that is not read."""
        check_messages(self.messages, "messages")
        system = without_attribution(_texts(self.system or ""))
        messages = [ChatMessage("system", system)] if system else []
        for number, message in enumerate(self.messages):
            messages += _for_engine(message, f"messages[{number}]")
        return messages

    def chosen(self) -> Offer:
        """The tools that may be called. Raises ApiError for a choice that none fits."""
        offered = [
            FunctionTool(name=tool.name, description=tool.description, parameters=tool.input_schema)
            for tool in self.tools or ()
            if tool.type in (None, "custom") and tool.name and tool.input_schema is not None
        ]
        choice = self.tool_choice
        if choice is None:
            return chosen_tools(offered, None, named=None, parallel=True, param="tool_choice")
        named = choice.name if choice.type == "tool" else None
        if choice.type == "tool" and not named:
            raise bad("tool_choice names no tool", "tool_choice.name")
        mode = {"any": "required", "none": "none"}.get(choice.type, "auto")
        parallel = not choice.disable_parallel_tool_use
        return chosen_tools(offered, mode, named=named, parallel=parallel, param="tool_choice")

    def _grammar(self) -> str:
        form = self.output_config.format if self.output_config else None
        return grammar_of(form.schema_, "output_config.format.schema") if form else ""


class MessagesRequest(CountRequest):
    """A conversation to be answered."""

    max_tokens: int = Field(ge=1, lt=2**31)

    def requests(self, offer: ModelOffer) -> tuple[Generate, ...]:
        """The one request to the engine. Raises ApiError for what cannot be served."""
        request = self.request(offer, self.max_tokens)
        check_last(request, "messages")
        return (request,)


def _for_engine(message: AnthropicMessage, param: str) -> list[ChatMessage]:
    """One message as the engine takes it: results of tools are messages of their own, before the text."""
    blocks = [ContentBlock(type="text", text=message.content)] if isinstance(message.content, str) else message.content
    results: list[ChatMessage] = []
    calls: list[ToolCall] = []
    images: list[GivenImage] = []
    texts: list[str] = []
    thoughts: list[str] = []
    for number, block in enumerate(blocks):
        block_param = f"{param}.content[{number}]"
        match block.type:
            case "image":
                images.append(_image(block, block_param))
            case "thinking":
                thoughts.append(block.thinking or "")
            case "tool_use":
                if not (block.id and block.name):
                    raise bad(f"{block_param} needs id and name", block_param)
                calls.append(ToolCall(block.name, json.dumps(block.input or {}, ensure_ascii=False), block.id))
            case "tool_result":
                if not block.tool_use_id:
                    raise bad(f"{block_param} needs tool_use_id", f"{block_param}.tool_use_id")
                text, shown = _result(block.content or "", f"{block_param}.content")
                results.append(ChatMessage("tool", text, tool_call_id=block.tool_use_id, images=shown))
            case kind if kind not in _OF_OTHERS:
                texts.append(_text(block, block_param))
    text, thought = joined_texts(texts), joined_texts(thoughts)
    own_message = ChatMessage(message.role, text, tuple(calls), images=tuple(images), reasoning=thought)
    return [*results, own_message] if text or images or thought or calls or not results else results


def _result(content: str | list[ContentBlock], param: str) -> tuple[str, tuple[GivenImage, ...]]:
    """The text of a tool's result, and its images. Raises ApiError for a block that is neither."""
    if isinstance(content, str):
        return content, ()
    texts, images = [], []
    for number, block in enumerate(content):
        block_param = f"{param}[{number}]"
        if block.type == "image":
            images.append(_image(block, block_param))
        else:
            texts.append(_text(block, block_param))
    return joined_texts(texts), tuple(images)


def _text(block: ContentBlock, param: str) -> str:
    """The text of a block. Raises ApiError for one that has none."""
    match block.type:
        case "text":
            return block.text or ""
        case "document":
            return _document(block)
        case "search_result":
            source = block.source if isinstance(block.source, str) else ""
            return joined_texts([block.title or "", source, _texts(block.content or "")])
        case "tool_reference":
            return f"[the tool {block.tool_name}]"
    raise no_text(block.type, param)


def _document(block: ContentBlock) -> str:
    """The text of a document, after its title; a note for one that is not text."""
    source = block.source if isinstance(block.source, Source) else Source(type="")
    match source.type:
        case "text":
            text = source.data
        case "content":
            text = _texts(source.content or "")
        case _:
            return unread_file(block.title or "")
    return joined_texts([block.title or "", block.context or "", text])


def _image(block: ContentBlock, param: str) -> GivenImage:
    """The image of a block. Raises ApiError for one that is not sent with the request."""
    if not isinstance(block.source, Source) or block.source.type != "base64":
        raise bad(f"{param}.source is not an image in base 64, and this server fetches nothing", f"{param}.source")
    return GivenImage(f"{param}.source", block.source.data)


def _texts(content: str | list[ContentBlock]) -> str:
    """The text of a content that holds nothing else; other blocks are named."""
    if isinstance(content, str):
        return content
    return joined_texts([block.text or "" if block.type == "text" else unread_part(block.type) for block in content])
