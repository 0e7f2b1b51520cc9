"""Conversations with images as the engine takes them."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from specchat.engine_process.protocol import ChatMessage
from specchat_engine import Image, Message
from specchat_engine.errors import SettingError

PNG_URL: Final = "data:image/png;base64,"
"""The beginning of an image that is part of the message, and not the name of a file."""

UNSEEN = "(There was an image here, which cannot be seen any more.)"


def messages_of(messages: Sequence[ChatMessage], no_images_because: str = "") -> list[Message]:
    """The messages with their images.

    If the target sees none, or if a file is gone, a sentence in the message says that there was one. Raises
    SettingError if that is so with the last message of the user: an answer to it would be about nothing.
    """
    last = last_question(messages)
    return [_message(message, no_images_because, needed=index == last) for index, message in enumerate(messages)]


def last_question(messages: Sequence[ChatMessage]) -> int:
    """Returns the index of the user's last message, -1 if there is none."""
    return max((index for index, message in enumerate(messages) if message.role == "user"), default=-1)


def _message(message: ChatMessage, no_images_because: str, *, needed: bool) -> Message:
    plain = message.for_engine()
    if not message.images:
        return plain
    if no_images_because and needed:
        raise SettingError(no_images_because)
    images = () if no_images_because else images_of(message, needed=needed)
    return replace(plain, images=images, content=without_images(plain.content, len(message.images) - len(images)))


def images_of(message: ChatMessage, *, needed: bool) -> tuple[Image, ...]:
    """The images of a message whose files are there. Raises SettingError if all are `needed`, and one is not there."""
    images = (_image(image, needed=needed) for image in message.images)
    return tuple(image for image in images if image is not None)


def without_images(content: str, lost: int) -> str:
    """The content of a message that says for each image that was lost that there was one."""
    return "\n".join([*[UNSEEN] * lost, content])


def _image(image: str, *, needed: bool) -> Image | None:
    if image.startswith(PNG_URL):
        return Image(b64decode(image.removeprefix(PNG_URL)))
    path = Path(image)
    try:
        return Image(path.read_bytes())
    except OSError as error:
        if needed:
            raise SettingError(f"the image {path.name} cannot be read: {error.strerror or error}") from None
        return None
