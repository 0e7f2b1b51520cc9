"""The messages of a conversation as clients write them, and as the engine's chat template takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, Self

from specchat.engine_process.protocol import ChatMessage
from specchat.serve.api_errors import ApiError, bad
from specchat.serve.requests.base import Wire
from specchat_engine.prompt.messages import Role, ToolCall

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_TEXTS: Final = ("text", "input_text", "output_text")
_IMAGES: Final = ("image_url", "input_image")


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


class ContentPart(Wire):
    """A part of a message; texts and images are taken."""

    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: str | ImageUrl | None = None


class Function(Wire):
    """The function of a call, its arguments as JSON in a text."""

    name: str
    arguments: str = "{}"


class FunctionCall(Wire):
    """A call of a function that the model asked for."""

    id: str | None = None
    type: str = "function"
    function: Function


class GivenMessage(Wire):
    """A message of OpenAI's chat API."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None
    name: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[FunctionCall] | None = None
    tool_call_id: str | None = None

    def for_engine(self, param: str) -> ChatMessage:
        """The message for the engine. Raises ApiError for a part that is neither text nor image."""
        text, images = text_and_images(self.content or "", f"{param}.content")
        calls = tuple(
            ToolCall(call.function.name, call.function.arguments or "{}", call.id or f"call_{number}")
            for number, call in enumerate(self.tool_calls or ())
        )
        role, call_id, name = _ROLES[self.role], self.tool_call_id or "", self.name or ""
        return ChatMessage(role, text, calls, call_id, name, images, self.reasoning_content or "")


def text_and_images(content: str | Sequence[ContentPart], param: str) -> tuple[str, tuple[GivenImage, ...]]:
    """The text of a message's content, and its images. Raises ApiError for a part that is neither."""
    if isinstance(content, str):
        return content, ()
    texts, images = [], []
    for number, part in enumerate(content):
        part_param = f"{param}[{number}]"
        if part.type in _IMAGES:
            url = part.image_url.url if isinstance(part.image_url, ImageUrl) else part.image_url
            images.append(image_at(url or "", f"{part_param}.image_url"))
        else:
            texts.append(_text(part, part_param))
    return "".join(texts), tuple(images)


def image_at(url: str, param: str) -> GivenImage:
    """The image in a data: URL; its type is what the data say. Raises ApiError for any other URL."""
    head, _, data = url.partition(",")
    head = head.strip().lower()
    if head.startswith(("http:", "https:")):
        raise bad(f"{param} is an address, and this server fetches nothing: send the image as a data: URL", param)
    if not (head.startswith("data:") and head.endswith(";base64")):
        raise bad(f"{param} is no data: URL of an image in base 64, such as data:image/png;base64,…", param)
    return GivenImage(param, data)


def joined(content: str | Sequence[ContentPart], param: str) -> str:
    """The text of a message's content. Raises ApiError for a part that is no text."""
    if isinstance(content, str):
        return content
    return "".join(_text(part, f"{param}[{number}]") for number, part in enumerate(content))


def _text(part: ContentPart, param: str) -> str:
    if part.type == "refusal":
        return part.refusal or ""
    if part.type not in _TEXTS:
        raise no_text(part.type, param)
    if part.text is None:
        raise bad(f"{param} has no text", f"{param}.text")
    return part.text


def no_text(kind: str, param: str) -> ApiError:
    """The error for a part of a message that is a file, sound or anything else that is not read there."""
    return bad(f"{param} is of type {kind[:80]!r}: messages may have texts and images, other places texts only", param)


def check_messages(messages: Sequence[object], param: str) -> None:
    """Raises ApiError if nothing is asked."""
    if not messages:
        raise bad(f"{param} is empty: send at least one message", param)
