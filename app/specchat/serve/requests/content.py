"""The messages of a conversation as clients write them, and as the engine's chat template takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from specchat.serve.api_errors import ApiError, bad
from specchat.serve.requests.base import Wire

Plain = dict[str, Any]
"""A message for the chat template, with the keys of OpenAI's chat API, and `images` apart from its content."""

_TEXTS: Final = ("text", "input_text", "output_text")
_IMAGES: Final = ("image_url", "input_image")


@dataclass(frozen=True, slots=True)
class GivenImage:
    """An image as a client sent it, in base 64, and its place in the request."""

    place: str
    data: str


class ImageUrl(Wire):
    """Where an image is; the detail that is asked for is ignored."""

    url: str


class Part(Wire):
    """A part of a message; texts and images are taken."""

    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: str | ImageUrl | None = None


class Function(Wire):
    """The function of a call, its arguments as JSON in a text."""

    name: str
    arguments: str = "{}"


class Call(Wire):
    """A call of a function that the model asked for."""

    id: str | None = None
    type: str = "function"
    function: Function


class ChatMessage(Wire):
    """A message of OpenAI's chat API."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None
    name: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[Call] | None = None
    tool_call_id: str | None = None


def plain_message(message: ChatMessage, place: str) -> Plain:
    """The message for the chat template. Raises ApiError for a part that is neither text nor image."""
    role = {"developer": "system", "function": "tool"}.get(message.role, message.role)
    plain: Plain = {"role": role, **said(message.content or "", f"{place}.content")}
    for name in ("name", "reasoning_content", "tool_call_id"):
        if (value := getattr(message, name)) is not None:
            plain[name] = value
    if message.tool_calls:
        plain["tool_calls"] = [
            call_of(call.id or f"call_{number}", call.function.name, call.function.arguments)
            for number, call in enumerate(message.tool_calls)
        ]
    return plain


def call_of(identity: str, name: str, arguments: str) -> Plain:
    """A call in a message for the chat template."""
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def said(content: str | Sequence[Part], place: str) -> Plain:
    """The text of a message's content, and its images. Raises ApiError for a part that is neither."""
    if isinstance(content, str):
        return {"content": content}
    texts, images = [], []
    for number, part in enumerate(content):
        where = f"{place}[{number}]"
        if part.type in _IMAGES:
            url = part.image_url.url if isinstance(part.image_url, ImageUrl) else part.image_url
            images.append(image_at(url or "", f"{where}.image_url"))
        else:
            texts.append(_text(part, where))
    return with_images("".join(texts), images)


def with_images(text: str, images: Sequence[GivenImage]) -> Plain:
    """The keys of a message with this text and these images, which stand before it."""
    return {"content": text, "images": images} if images else {"content": text}


def image_at(url: str, place: str) -> GivenImage:
    """The image in a data: URL; its type is what the data say. Raises ApiError for any other URL."""
    head, _, data = url.partition(",")
    head = head.strip().lower()
    if head.startswith(("http:", "https:")):
        raise bad(f"{place} is an address, and this server fetches nothing: send the image as a data: URL", place)
    if not (head.startswith("data:") and head.endswith(";base64")):
        raise bad(f"{place} is no data: URL of an image in base 64, such as data:image/png;base64,…", place)
    return GivenImage(place, data)


def joined(content: str | Sequence[Part], place: str) -> str:
    """The text of a message's content. Raises ApiError for a part that is no text."""
    if isinstance(content, str):
        return content
    return "".join(_text(part, f"{place}[{number}]") for number, part in enumerate(content))


def _text(part: Part, place: str) -> str:
    if part.type == "refusal":
        return part.refusal or ""
    if part.type not in _TEXTS:
        raise no_text(part.type, place)
    if part.text is None:
        raise bad(f"{place} has no text", f"{place}.text")
    return part.text


def no_text(kind: str, place: str) -> ApiError:
    """The error for a part of a message that is a file, sound or anything else that is not read there."""
    return bad(f"{place} is of type {kind[:80]!r}: messages may have texts and images, other places texts only", place)


def check_messages(messages: Sequence[object], param: str) -> None:
    """Raises ApiError if nothing is asked."""
    if not messages:
        raise bad(f"{param} is empty: send at least one message", param)
