"""The messages of a conversation as clients write them, and as the engine's chat template takes them."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from specchat.engine_process.protocol import ChatMessage, Generate
from specchat.serve.api_errors import ApiError, bad
from specchat.serve.requests.base import Wire
from specchat_engine.prompt.messages import Role, ToolCall, arguments_text

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_TEXTS: Final = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
_IMAGES: Final = ("image_url", "input_image")
_THOUGHTS: Final = ("thinking", "reasoning")
_FILES: Final = ("file", "input_file", "document")
_ATTRIBUTION: Final = "x-anthropic-billing-header:"
_SAYS_NOTHING: Final = ("reference",)
"""Parts that point to others."""


class GivenImage(str):
    """An image as a client sent it, in base 64. `param` says where it stands in the request."""

    param: str

    def __new__(cls, param: str, data: str) -> Self:
        image = super().__new__(cls, data)
        image.param = param
        return image


class ImageUrl(Wire):
    """Where an image is; the detail that is asked for is ignored."""

    url: str


class GivenFile(Wire):
    """A file as a data: URL."""

    filename: str | None = None
    file_data: str | None = None


class ContentPart(Wire):
    """A part of a message; texts, images, thoughts and files are taken."""

    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: str | ImageUrl | None = None
    thinking: str | list[ContentPart] | None = None
    file: GivenFile | None = None
    filename: str | None = None
    file_data: str | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """What a message says: its text, its images, and the thought before an answer."""

    text: str
    images: tuple[GivenImage, ...] = ()
    thought: str = ""


class Function(Wire):
    """The function of a call, its arguments as JSON in a text; some clients send an object, or nothing."""

    name: str
    arguments: Any = None


class FunctionCall(Wire):
    """A call of a function that the model asked for."""

    id: str | None = None
    type: str = "function"
    function: Function


class GivenMessage(Wire):
    """A message of OpenAI's chat API. `function_call` is the call of an older client."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None
    name: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[FunctionCall] | None = None
    function_call: Function | None = None
    tool_call_id: str | None = None

    def for_engine(self, param: str) -> ChatMessage:
        """The message for the engine. Raises ApiError for a part that cannot be read."""
        content = content_of(self.content or "", f"{param}.content")
        calls = tuple(
            ToolCall(call.function.name, arguments_text(call.function.arguments), call.id or f"call_{number}")
            for number, call in enumerate(self.tool_calls or ())
        )
        if self.function_call and not calls:
            calls = (ToolCall(self.function_call.name, arguments_text(self.function_call.arguments)),)
        role, call_id, name = _ROLES[self.role], self.tool_call_id or "", self.name or ""
        text = without_attribution(content.text) if role == "system" else content.text
        thought = self.reasoning_content or self.reasoning or content.thought
        return ChatMessage(role, text, calls, call_id, name, content.images, thought)


def content_of(content: str | Sequence[ContentPart], param: str) -> Content:
    """What a message's content says; its texts are lines. Raises ApiError for a part that cannot be read."""
    if isinstance(content, str):
        return Content(content)
    texts, images, thoughts = [], [], []
    for number, part in enumerate(content):
        part_param = f"{param}[{number}]"
        if part.type in _IMAGES:
            url = part.image_url.url if isinstance(part.image_url, ImageUrl) else part.image_url
            images.append(image_at(url or "", f"{part_param}.image_url"))
        elif part.type in _THOUGHTS:
            thoughts.append(joined(part.thinking or part.text or "", f"{part_param}.thinking"))
        elif part.type not in _SAYS_NOTHING:
            texts.append(_text(part, part_param))
    return Content(joined_texts(texts), tuple(images), joined_texts(thoughts))


def joined_texts(texts: Sequence[str]) -> str:
    """The texts of a message's parts as one, in lines of their own, as llama.cpp joins them."""
    return "\n".join(filter(None, texts))


def without_attribution(system: str) -> str:
    """The text without a first line that is meant for Anthropic's server.

    Claude Code writes another one with each request, so that nothing after it could be kept in memory.
    """
    first, _, others = system.partition("\n")
    return others.lstrip("\n") if first.startswith(_ATTRIBUTION) else system


def image_at(url: str, param: str) -> GivenImage:
    """The image in a data: URL; its type is what the data say. Raises ApiError for any other URL."""
    head, _, data = url.partition(",")
    head = head.strip().lower()
    if head.startswith(("http:", "https:")):
        raise bad(f"{param} is an address, and this server fetches nothing: send the image as a data: URL", param)
    if not (head.startswith("data:") and head.endswith(";base64")):
        raise bad(f"{param} is not a data: URL of an image in base 64, such as data:image/png;base64,…", param)
    return GivenImage(param, data)


def joined(content: str | Sequence[ContentPart], param: str) -> str:
    """The text of a message's content. Raises ApiError for a part that is not text."""
    if isinstance(content, str):
        return content
    return joined_texts([_text(part, f"{param}[{number}]") for number, part in enumerate(content)])


def _text(part: ContentPart, param: str) -> str:
    if part.type == "refusal":
        return part.refusal or ""
    if part.type in _FILES:
        file = part.file or GivenFile(filename=part.filename, file_data=part.file_data)
        return file_text(file.filename or "", file.file_data or "")
    if part.type not in _TEXTS:
        raise no_text(part.type, param)
    if part.text is None:
        raise bad(f"{param} has no text", f"{param}.text")
    return part.text


def file_text(name: str, url: str) -> str:
    """The text of a file in a data: URL. For any other file a note that the model reads."""
    head, _, data = url.partition(",")
    if head.strip().lower().startswith("data:text/") and head.endswith(";base64"):
        try:
            text = b64decode(data, validate=True).decode()
        except ValueError:
            return unread_file(name)
        return f"{name}:\n{text}" if name else text
    return unread_file(name)


def unread_file(name: str) -> str:
    """The note in place of a file that only other servers read."""
    return f"[the file {name!r} cannot be read here]" if name else "[a file that cannot be read here]"


def unread_part(kind: str) -> str:
    """The note in place of a part that is not text, where only texts are read."""
    return f"[a part of the type {kind[:80]!r} that cannot be read here]"


def no_text(kind: str, param: str) -> ApiError:
    """The error for a part of a message that is sound or anything else that is not read there."""
    return bad(f"{param} is of type {kind[:80]!r}: messages may have texts and images, other places texts only", param)


def check_messages(messages: Sequence[object], param: str) -> None:
    """Raises ApiError if nothing is asked."""
    if not messages:
        raise bad(f"{param} is empty: send at least one message", param)


def check_last(request: Generate, param: str, continues: bool | None = None) -> None:
    """Raises ApiError if no answer can follow the last message of a request.

    An answer at the end is continued. `continues` is what the client says about that, None for nothing.
    """
    last = f"the last of {param}"
    if request.messages[-1].tool_calls:
        raise bad(f"{last} calls tools: send their results after it", param)
    if continues and not request.continues:
        problem = f"{last} is not an answer that can be continued: end with one of the assistant"
        raise bad(problem, "continue_final_message")
    if request.continues and continues is False:
        message = f"{last} is an answer, which is continued: leave out continue_final_message, or end with a question"
        raise bad(message, "continue_final_message")
    if request.continues and (request.settings.sampling.grammar or request.tools.required):
        what = "a required call" if request.tools.required else "a format"
        raise bad(f"{last} is an answer to be continued, which cannot be held to {what}: leave out one", param)
