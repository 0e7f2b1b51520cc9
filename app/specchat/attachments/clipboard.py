"""The picture in the clipboard of this desktop, through Pillow, which asks the system or a program such as xclip."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from specchat.attachments.documents import UnreadableDocument
from specchat.attachments.kinds import kind_of_name
from specchat.attachments.pictures import MOST_PIXELS, picture_of, reduced
from specchat.attachments.protocol import Picture
from specchat.terminal.clipboard import reachable


def picture_in_clipboard(seconds: float) -> Picture:
    """The picture that was copied last, or the picture in a copied file.

    Raises Unreadable, ImportError without Pillow, and what Pillow raises for a damaged picture.
    """
    from PIL import Image, ImageGrab, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = MOST_PIXELS // 2  # Pillow refuses twice as many
    if not reachable():
        raise UnreadableDocument("cannot be reached: there is no desktop here, as over SSH; name a file with @ instead")
    try:
        with _within(seconds):
            content = ImageGrab.grabclipboard()
    except NotImplementedError:
        package = "wl-clipboard" if os.environ.get("WAYLAND_DISPLAY") else "xclip"
        raise UnreadableDocument(f"cannot be read: install the package {package}") from None
    except UnidentifiedImageError:
        raise UnreadableDocument("has an image in a format that cannot be read") from None
    except OSError as error:
        raise UnreadableDocument(f"cannot be read: {error}") from None
    except Image.DecompressionBombError:
        raise UnreadableDocument(f"has an image that is too large: the limit is {MOST_PIXELS:,} pixels") from None
    if isinstance(content, list):
        pictures = [path for path in content if kind_of_name(path) == "image"]
        if pictures:
            return picture_of(Path(pictures[0]))
    elif content is not None:
        return reduced(content)
    raise UnreadableDocument("has no image")


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raises Unreadable if what is done takes longer or is stopped. A program that it waits for is then ended."""

    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise UnreadableDocument(f"gave nothing within {seconds:g} seconds")

    if not hasattr(signal, "setitimer"):  # Windows, where no program is waited for
        yield
        return
    for number in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
