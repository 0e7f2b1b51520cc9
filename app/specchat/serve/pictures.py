"""The images of requests, which may be hostile: a process of its own reads each, like attachments."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from threading import Event
from typing import Final

from specchat.attachments.client import picture_given
from specchat.attachments.protocol import LARGEST_PICTURE
from specchat.chat.attachments import MOST_IMAGES
from specchat.engine_process.images import PNG_URL
from specchat.engine_process.protocol import Generate
from specchat.engine_process.shared_client import SharedClient
from specchat.errors import AttachmentError
from specchat.serve.api_errors import bad
from specchat.serve.requests.content import GivenImage

_AT_A_TIME: Final = 2
"""Processes that read images for all requests together."""

_MOST_IN_ALL: Final = 64
"""Images of a request, in all messages together."""

_MOST: Final = MOST_IMAGES * LARGEST_PICTURE
"""Bytes of images in base 64, as the engine gets them."""


class Pictures:
    """Turns the images of requests into PNGs of a limited size. The last ones are remembered, since clients send them
    again with each message of a conversation."""

    def __init__(self, engine: SharedClient, most: int = _MOST) -> None:
        """The images of a request may have `most` bytes together, and so may those that are remembered."""
        self._engine = engine
        self._most = most
        self._turn = asyncio.Semaphore(_AT_A_TIME)
        self._known: OrderedDict[bytes, str] = OrderedDict()

    async def unpacked(self, request: Generate) -> Generate:
        """The request with images that the engine can take.

        Raises ApiError, which names its path, for an image that cannot be read, for one too many, and if the model
        sees none.
        """
        groups = [[image for image in message.images if isinstance(image, GivenImage)] for message in request.messages]
        shown = [image for images in groups for image in images]
        if shown and (why := self._engine.info.no_images_because):
            raise bad(f"{shown[0].param}: {why}", shown[0].param)
        for images in groups:
            _check_number(images, MOST_IMAGES, "a message")
        _check_number(shown, _MOST_IN_ALL, "in all messages together")
        left, pngs = self._most, {}
        for image in shown:
            pngs[image.param] = png = await self._png(image)
            left -= len(png)
            if left < 0:
                limit = f"{self._most >> 20} MiB as PNG in base 64"
                raise bad(f"{image.param}: all images together have more than {limit}", image.param)
        messages = (
            replace(message, images=tuple(PNG_URL + pngs[image.param] for image in images))
            for message, images in zip(request.messages, groups, strict=True)
        )
        return replace(request, messages=tuple(messages))

    async def _png(self, image: GivenImage) -> str:
        """The image in base 64. It is no longer read once nobody waits for it."""
        name, gone = sha256(image.encode()).digest(), Event()
        png = self._known.pop(name, None)
        try:
            if png is None:
                async with self._turn:
                    png = (await asyncio.to_thread(picture_given, image.param, image, gone.is_set)).png
        except AttachmentError as error:
            raise bad(str(error), image.param) from None
        finally:
            gone.set()
        self._known[name] = png
        while sum(map(len, self._known.values())) > self._most:
            self._known.popitem(last=False)
        return png


def _check_number(images: Sequence[GivenImage], most: int, where: str) -> None:
    if len(images) > most:
        param = images[most].param
        raise bad(f"{param} is one image too many: the limit is {most} {where}", param)
